// 3-D views of meshes. Needs nothing but WebGL 2: every view of a page is drawn by one shared context and
// copied to its own canvas, so a page may hold any number of views.
"use strict";
(() => {
  const FOCAL = 1 / Math.tan((15 * Math.PI) / 180);
  const EYE = 1.03 / Math.sin((15 * Math.PI) / 180); // from there the unit ball just fits
  const MODES = { plain: 0, labels: 1, scalar: 2, colours: 3, polar: 4 };

  // ---------------------------------------------------------------- arrays
  const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array };

  // Undo pack() of page.py: base64, deflate, bytes grouped by significance, differences along columns.
  async function unpack({ kind, shape, delta, data }) {
    const text = atob(data);
    const squeezed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) squeezed[i] = text.charCodeAt(i);
    const stream = new Blob([squeezed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const grouped = new Uint8Array(await new Response(stream).arrayBuffer());
    const size = KINDS[kind].BYTES_PER_ELEMENT;
    const count = grouped.length / size;
    const bytes = new Uint8Array(grouped.length);
    for (let b = 0; b < size; b++)
      for (let i = 0, from = b * count; i < count; i++) bytes[i * size + b] = grouped[from + i];
    const values = new KINDS[kind](bytes.buffer);
    const columns = shape[1] || 1;
    if (delta) for (let i = columns; i < count; i++) values[i] += values[i - columns]; // wraps as intended
    return values;
  }

  // ---------------------------------------------------------------- drawing
  const [NEAR, FAR] = [EYE - 1.05, EYE + 1.05];
  const CLIP = `vec4 clip(vec2 lens, vec3 place) {
      float depth = (place.z * ${-(FAR + NEAR)} - ${2 * FAR * NEAR}) / ${FAR - NEAR};
      return vec4(lens * place.xy, depth, -place.z);
    }`;
  const SURFACE_VERTEX = `#version 300 es
    precision highp float;
    in vec3 point, direction; in vec4 value;
    uniform mat3 turn; uniform vec2 pan, lens;
    out vec3 weights, normal, place; out vec4 mean;
    ${CLIP}
    void main() {
      int corner = gl_VertexID % 3;
      weights = vec3(corner == 0, corner == 1, corner == 2);
      mean = value;
      normal = turn * direction;
      place = turn * point + vec3(pan, -${EYE});
      gl_Position = clip(lens, place);
    }`;
  const SURFACE_FRAGMENT = `#version 300 es
    precision highp float;
    uniform sampler2D ramp;
    uniform int mode, size; uniform vec3 plain;
    in vec3 weights, normal, place; in vec4 mean;
    out vec4 colour;
    void main() {
      vec3 paint = plain;
      if (mode == 1) { // the class of the nearest corner
        float near = weights.x >= max(weights.y, weights.z) ? mean.x : weights.y >= weights.z ? mean.y : mean.z;
        if (near > -0.5) {
          vec4 found = texelFetch(ramp, ivec2(int(near + 0.5), 0), 0);
          if (found.a < 0.5) discard;
          paint = found.rgb;
        }
      } else if (mode == 2 && mean.a > 0.5) { // corners without a value have weight zero
        paint = texture(ramp, vec2((mean.r / mean.a * float(size - 1) + 0.5) / float(size), 0.5)).rgb;
      } else if (mode == 3) {
        paint = mean.rgb;
      } else if (mode == 4 && mean.a > 0.999) {
        float ring = 2.5 * length(mean.rg), soft = fwidth(ring);
        paint = texture(ramp, vec2(fract(atan(mean.g, mean.r) / 6.2831853), 0.5)).rgb;
        paint *= mix(0.74, 1.06, smoothstep(-soft, soft, abs(fract(ring) - 0.5) - 0.25));
        float spoke = abs(mean.g) / max(fwidth(mean.g), 1e-9);
        if (mean.r > 0.0) paint = mix(paint, vec3(0.1), 0.75 * clamp(1.6 - spoke, 0.0, 1.0));
      }
      // The normal on the side we look at, whichever way round the faces are.
      vec3 facing = normalize(cross(dFdx(place), dFdy(place)));
      vec3 n = normalize(normal + 1e-6 * facing);
      if (dot(n, facing) < 0.0) n = -n;
      vec3 light = normalize(vec3(-0.35, 0.55, 0.75)), toward = normalize(-place);
      float shade = 0.46 + 0.42 * max(dot(n, light), 0.0) + 0.06 * (1.0 + n.y) + 0.12 * max(dot(n, toward), 0.0);
      colour = vec4(paint * shade + 0.07 * pow(max(dot(n, normalize(light + toward)), 0.0), 40.0), 1);
    }`;
  const EDGE_VERTEX = `#version 300 es
    precision highp float;
    in vec3 point;
    uniform mat3 turn; uniform vec2 pan, lens;
    ${CLIP}
    void main() {
      gl_Position = clip(lens, turn * point + vec3(pan, -${EYE}));
      gl_Position.z -= 2e-4 * gl_Position.w; // in front of its own faces
    }`;
  const EDGE_FRAGMENT = `#version 300 es
    precision highp float;
    out vec4 colour;
    void main() { colour = vec4(0.03, 0.04, 0.06, 0.4); }`;
  const ARROW_VERTEX = `#version 300 es
    precision highp float;
    in vec2 shape, border; in vec3 start, along, up;
    uniform mat3 turn; uniform vec2 pan, lens; uniform float width;
    ${CLIP}
    void main() {
      vec2 at = shape + width * border;
      vec3 lifted = start + along * at.x + cross(up, along) * at.y + up * length(along) * 0.12;
      gl_Position = clip(lens, turn * lifted + vec3(pan, -${EYE}));
      gl_Position.z += 1e-4 * width * gl_Position.w; // the border lies below
    }`;
  const ARROW_FRAGMENT = `#version 300 es
    precision highp float;
    uniform vec3 ink; out vec4 colour;
    void main() { colour = vec4(ink, 1); }`;
  // A flat arrow of length one, in (along, side), and where each corner goes when a border is drawn.
  const ARROW_SHAPE = new Float32Array([
    0, -0.05, 0.6, -0.05, 0.6, 0.05, 0, -0.05, 0.6, 0.05, 0, 0.05, 0.55, -0.2, 1, 0, 0.55, 0.2,
  ]);
  const ARROW_BORDER = new Float32Array([-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1, -1, -1.6, 2.2, 0, -1, 1.6]);

  class Painter {
    constructor() {
      const context = (antialias) => document.createElement("canvas").getContext("webgl2", { antialias });
      let gl = context(true);
      if (!gl) throw new Error("This browser has no WebGL 2, which the 3-D view needs.");
      // Without a graphics card, smooth motion matters more than smooth outlines.
      const named = gl.getExtension("WEBGL_debug_renderer_info");
      const card = gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
      if (/swiftshader|llvmpipe|software|basic render/i.test(card)) gl = context(false);
      this.canvas = gl.canvas;
      this.gl = gl;
      this.surface = this.program(SURFACE_VERTEX, SURFACE_FRAGMENT);
      this.edges = this.program(EDGE_VERTEX, EDGE_FRAGMENT);
      this.arrows = this.program(ARROW_VERTEX, ARROW_FRAGMENT);
      this.shape = this.buffer(ARROW_SHAPE);
      this.border = this.buffer(ARROW_BORDER);
      gl.enable(gl.DEPTH_TEST);
      gl.enable(gl.SCISSOR_TEST);
      gl.depthFunc(gl.LEQUAL);
      gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    }

    program(vertex, fragment) {
      const gl = this.gl;
      const program = gl.createProgram();
      for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, text);
        gl.compileShader(shader);
        gl.attachShader(program, shader);
      }
      gl.linkProgram(program);
      if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
        const logs = gl.getAttachedShaders(program).map((shader) => gl.getShaderInfoLog(shader));
        throw new Error(`The 3-D view cannot start: ${gl.getProgramInfoLog(program)} ${logs.join(" ")}`);
      }
      const uniforms = {};
      for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
        const name = gl.getActiveUniform(program, i).name;
        uniforms[name] = gl.getUniformLocation(program, name);
      }
      return { program, uniforms };
    }

    buffer(values, old = null, kind = this.gl.ARRAY_BUFFER) {
      const gl = this.gl;
      const buffer = old || gl.createBuffer();
      gl.bindVertexArray(null);
      gl.bindBuffer(kind, buffer);
      gl.bufferData(kind, values, gl.STATIC_DRAW);
      return buffer;
    }

    // Inputs of a program: name → [buffer, numbers per item, step per instance].
    array({ program }, inputs, indices = null) {
      const gl = this.gl;
      const array = gl.createVertexArray();
      gl.bindVertexArray(array);
      for (const [name, [buffer, size, step = 0]] of Object.entries(inputs)) {
        const place = gl.getAttribLocation(program, name);
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
        gl.vertexAttribDivisor(place, step);
      }
      if (indices) gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices);
      gl.bindVertexArray(null);
      return array;
    }

    ramp(rgba, smooth, around, old = null) {
      const gl = this.gl;
      const texture = old || gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, rgba.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, rgba);
      for (const key of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
        gl.texParameteri(gl.TEXTURE_2D, key, smooth ? gl.LINEAR : gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, around ? gl.REPEAT : gl.CLAMP_TO_EDGE);
      return texture;
    }

    // Detail below one draws fewer pixels and stretches them.
    draw(view, detail) {
      const gl = this.gl;
      const [width, height] = [view.canvas.width, view.canvas.height].map((side) => Math.ceil(side * detail));
      if (this.canvas.width < width || this.canvas.height < height) {
        this.canvas.width = Math.max(this.canvas.width, width);
        this.canvas.height = Math.max(this.canvas.height, height);
      }
      const bottom = this.canvas.height - height;
      gl.viewport(0, bottom, width, height);
      gl.scissor(0, bottom, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const { paint, viewer } = view;
      const uniforms = this.use(this.surface, view);
      gl.bindTexture(gl.TEXTURE_2D, paint.ramp);
      gl.uniform1i(uniforms.mode, paint.mode);
      gl.uniform1i(uniforms.size, paint.size);
      gl.uniform3fv(uniforms.plain, viewer.plain);
      gl.bindVertexArray(paint.whole.array);
      gl.drawElements(gl.TRIANGLES, paint.whole.count, gl.UNSIGNED_INT, 0);
      if (paint.mixed.count) {
        gl.bindVertexArray(paint.mixed.array);
        gl.drawArrays(gl.TRIANGLES, 0, paint.mixed.count);
      }
      if (viewer.edges) {
        this.use(this.edges, view);
        const lines = view.lines();
        gl.enable(gl.BLEND);
        gl.bindVertexArray(lines.array);
        gl.drawElements(gl.LINES, lines.count, gl.UNSIGNED_INT, 0);
        gl.disable(gl.BLEND);
      }
      if (paint.arrows && viewer.arrows) {
        const arrow = this.use(this.arrows, view);
        gl.bindVertexArray(paint.arrows.array);
        for (const [width, ink] of [[0.035, [0.05, 0.07, 0.1]], [0, [1, 1, 1]]]) {
          gl.uniform1f(arrow.width, width);
          gl.uniform3fv(arrow.ink, ink);
          gl.drawArraysInstanced(gl.TRIANGLES, 0, ARROW_SHAPE.length / 2, paint.arrows.count);
        }
      }
      gl.bindVertexArray(null);
      const target = view.canvas.getContext("2d");
      target.clearRect(0, 0, view.canvas.width, view.canvas.height);
      target.drawImage(this.canvas, 0, 0, width, height, 0, 0, view.canvas.width, view.canvas.height);
    }

    use({ program, uniforms }, view) {
      const gl = this.gl;
      const { turn, zoom, pan } = view.camera;
      gl.useProgram(program);
      gl.uniformMatrix3fv(uniforms.turn, true, turn);
      gl.uniform2fv(uniforms.pan, pan);
      gl.uniform2fv(uniforms.lens, view.lens(zoom));
      return uniforms;
    }

    arrowArray(mesh, { vertices, vectors }) {
      const pick = (from) => Float32Array.from({ length: 3 * vertices.length }, (_, i) => from[3 * vertices[(i / 3) | 0] + (i % 3)]);
      const array = this.array(this.arrows, {
        shape: [this.shape, 2],
        border: [this.border, 2],
        start: [this.buffer(pick(mesh.points)), 3, 1],
        along: [this.buffer(vectors.map((x) => x / mesh.scale)), 3, 1],
        up: [this.buffer(pick(mesh.normals)), 3, 1],
      });
      return { array, count: vertices.length };
    }
  }

  let shared = null;
  const painter = () => (shared ||= new Painter());

  // ---------------------------------------------------------------- meshes
  async function readMesh(spec) {
    const [steps, faces] = await Promise.all([unpack(spec.points), unpack(spec.faces)]);
    // Positions come as 16-bit steps in the bounding box; here they go to the unit ball.
    const points = new Float32Array(steps.length);
    for (let i = 0; i < steps.length; i++) {
      const axis = i % 3;
      points[i] = (spec.low[axis] + (steps[i] / 65535) * spec.size[axis] - spec.centre[axis]) / spec.scale;
    }
    const normals = new Float32Array(points.length);
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
      const ux = points[b] - points[a], uy = points[b + 1] - points[a + 1], uz = points[b + 2] - points[a + 2];
      const vx = points[c] - points[a], vy = points[c + 1] - points[a + 1], vz = points[c + 2] - points[a + 2];
      const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
      for (const v of [a, b, c]) {
        normals[v] += nx;
        normals[v + 1] += ny;
        normals[v + 2] += nz;
      }
    }
    for (let v = 0; v < normals.length; v += 3) {
      const length = Math.hypot(normals[v], normals[v + 1], normals[v + 2]) || 1;
      for (let axis = 0; axis < 3; axis++) normals[v + axis] /= length;
    }
    return {
      points, faces, normals, scale: spec.scale, count: points.length / 3,
      pointBuffer: painter().buffer(points),
      normalBuffer: painter().buffer(normals),
    };
  }

  // Pairs of vertices, each edge once.
  function edgesOf(mesh) {
    const seen = new Set();
    const pairs = [];
    for (let f = 0; f < mesh.faces.length; f++) {
      const a = mesh.faces[f], b = mesh.faces[f % 3 === 2 ? f - 2 : f + 1];
      const key = Math.min(a, b) * mesh.count + Math.max(a, b);
      if (!seen.has(key)) pairs.push(a, b);
      seen.add(key);
    }
    return pairs;
  }

  // ---------------------------------------------------------------- colourings
  const format = (x) => {
    if (!Number.isFinite(x)) return "none";
    const size = Math.abs(x);
    return size !== 0 && (size < 1e-3 || size >= 1e5) ? x.toExponential(2) : String(Number(x.toPrecision(4)));
  };

  async function readColouring(spec) {
    const colouring = { ...spec, values: await unpack(spec.values), hidden: new Set() };
    if (spec.ramp) colouring.ramp = await unpack(spec.ramp);
    if (spec.match) colouring.match = await unpack(spec.match);
    if (spec.arrows) colouring.arrows = { vertices: await unpack(spec.arrows.vertices), vectors: await unpack(spec.arrows.vectors) };
    colouring.describe = (v) => {
      const x = colouring.values;
      if (spec.kind === "labels") return x[v] < 0 ? "none" : spec.names[x[v]];
      if (spec.kind === "scalar") return format(x[v]);
      if (spec.kind === "colours") return colouring.match ? (colouring.match[v] < 0 ? "none" : `vertex ${colouring.match[v]}`) : null;
      const [r, angle] = [Math.hypot(x[2 * v], x[2 * v + 1]), Math.atan2(x[2 * v + 1], x[2 * v])];
      return Number.isFinite(r) ? `r = ${format(r)}, θ = ${((angle * 180) / Math.PI).toFixed(1)}°` : "outside";
    };
    return colouring;
  }

  // Four numbers per vertex and a table of colours, as the surface shader wants them.
  function paintOf({ mesh }, colouring) {
    const { count, faces } = mesh;
    const values = new Float32Array(4 * count);
    const kind = colouring ? colouring.kind : "plain";
    const given = colouring ? colouring.values : null;
    let ramp = new Uint8Array([255, 255, 255, 255]);
    let whole = faces;
    let mixed = new Uint32Array(0); // corners of the faces whose corners differ in class
    if (kind === "labels") {
      ramp = opaque(colouring.ramp);
      for (let v = 0; v < count; v++) values.fill(given[v], 4 * v, 4 * v + 3);
      const parts = [[], []];
      for (let f = 0; f < faces.length; f += 3) {
        const label = given[faces[f]];
        const same = label === given[faces[f + 1]] && label === given[faces[f + 2]];
        parts[same ? 0 : 1].push(faces[f], faces[f + 1], faces[f + 2]);
      }
      [whole, mixed] = parts.map((part) => Uint32Array.from(part));
    } else if (kind === "scalar") {
      const [low, high] = colouring.limits;
      for (let v = 0; v < count; v++) {
        if (Number.isNaN(given[v])) continue;
        values[4 * v] = high > low ? Math.min(1, Math.max(0, (given[v] - low) / (high - low))) : 0.5;
        values[4 * v + 3] = 1;
      }
    } else if (kind === "colours") {
      for (let v = 0; v < count; v++) for (let k = 0; k < 3; k++) values[4 * v + k] = given[3 * v + k] / 255;
    } else if (kind === "polar") {
      for (let v = 0; v < count; v++) {
        if (Number.isNaN(given[2 * v])) continue;
        for (let k = 0; k < 2; k++) values[4 * v + k] = given[2 * v + k] / colouring.radius;
        values[4 * v + 3] = 1;
      }
    }
    if (kind === "scalar" || kind === "polar") ramp = opaque(colouring.ramp);
    const paint = painter();
    const gather = (from) => {
      const out = new Float32Array(3 * mixed.length);
      for (let i = 0; i < out.length; i++) out[i] = from[3 * mixed[(i / 3) | 0] + (i % 3)];
      return paint.buffer(out);
    };
    const corners = new Float32Array(4 * mixed.length);
    for (let i = 0; i < mixed.length; i++)
      for (let k = 0; k < 3; k++) corners[4 * i + k] = given[mixed[i - (i % 3) + k]];
    const inputs = { point: [mesh.pointBuffer, 3], direction: [mesh.normalBuffer, 3], value: [paint.buffer(values), 4] };
    const indices = paint.buffer(whole, null, paint.gl.ELEMENT_ARRAY_BUFFER);
    const apart = mixed.length && { point: [gather(mesh.points), 3], direction: [gather(mesh.normals), 3], value: [paint.buffer(corners), 4] };
    return {
      mode: MODES[kind],
      size: ramp.length / 4,
      ramp: paint.ramp(ramp, kind !== "labels", kind === "polar"),
      whole: { array: paint.array(paint.surface, inputs, indices), count: whole.length },
      mixed: { array: apart && paint.array(paint.surface, apart), count: mixed.length },
      arrows: colouring && colouring.arrows ? paint.arrowArray(mesh, colouring.arrows) : null,
    };
  }

  function opaque(rgb) {
    const rgba = new Uint8Array((rgb.length / 3) * 4).fill(255);
    for (let k = 0; k < rgb.length / 3; k++) rgba.set(rgb.subarray(3 * k, 3 * k + 3), 4 * k);
    return rgba;
  }

  // ---------------------------------------------------------------- cameras
  const times = (a, b) => Float32Array.from({ length: 9 }, (_, i) => {
    const [row, column] = [(i / 3) | 0, i % 3];
    return a[3 * row] * b[column] + a[3 * row + 1] * b[3 + column] + a[3 * row + 2] * b[6 + column];
  });
  const aboutX = (t) => [1, 0, 0, 0, Math.cos(t), -Math.sin(t), 0, Math.sin(t), Math.cos(t)];
  const aboutY = (t) => [Math.cos(t), 0, Math.sin(t), 0, 1, 0, -Math.sin(t), 0, Math.cos(t)];
  // Rounding piles up over many small turns: make the rows orthonormal again.
  function tidy(m) {
    const [x, y] = [m.slice(0, 3), m.slice(3, 6)];
    const unit = (v) => { const n = Math.hypot(...v); return v.map((c) => c / n); };
    const a = unit(x);
    const dot = a[0] * y[0] + a[1] * y[1] + a[2] * y[2];
    const b = unit(y.map((c, i) => c - dot * a[i]));
    return Float32Array.from([...a, ...b, a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]);
  }

  // ---------------------------------------------------------------- one view
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text; // names come from files: never as HTML
    return element;
  };

  class View {
    constructor(viewer, spec, mesh, colourings) {
      Object.assign(this, { viewer, spec, mesh, colourings, camera: viewer.camera, current: null });
      this.figure = make("figure", "fc-view");
      const head = make("figcaption", "fc-head");
      head.append(make("strong", "fc-title", spec.title), make("span", "fc-note", spec.note));
      head.title = spec.title;
      this.stage = make("div", "fc-stage");
      this.canvas = make("canvas", "fc-canvas");
      this.canvas.setAttribute("role", "img");
      this.canvas.setAttribute("aria-label", `3-D view of ${spec.title}`);
      this.canvas.tabIndex = 0;
      this.marker = make("div", "fc-marker");
      this.scale = make("div", "fc-scale");
      this.stage.append(this.canvas, this.marker);
      this.figure.append(head, this.stage, this.scale);
      this.listen();
    }

    lens(zoom) {
      const { width, height } = this.canvas;
      const fit = FOCAL * zoom * Math.min(width, height);
      return [fit / width, fit / height];
    }

    // How much larger the mesh could be without leaving the canvas.
    fit({ turn, zoom }) {
      const { points } = this.mesh;
      const [fx, fy] = this.lens(zoom);
      let reach = 1e-6;
      for (let v = 0; v < points.length; v += 3) {
        const [x, y, z] = [0, 3, 6].map((r) => turn[r] * points[v] + turn[r + 1] * points[v + 1] + turn[r + 2] * points[v + 2]);
        reach = Math.max(reach, (Math.abs(x) * fx) / (EYE - z), (Math.abs(y) * fy) / (EYE - z));
      }
      return Math.min(4, 0.92 / reach);
    }

    // Where on the canvas (CSS pixels) vertex v is seen.
    project(v) {
      const { turn, pan, zoom } = this.camera;
      const p = this.mesh.points;
      const row = (r) => turn[3 * r] * p[3 * v] + turn[3 * r + 1] * p[3 * v + 1] + turn[3 * r + 2] * p[3 * v + 2];
      const depth = EYE - row(2);
      const [fx, fy] = this.lens(zoom);
      const { clientWidth: w, clientHeight: h } = this.canvas;
      return [((1 + (fx * (row(0) + pan[0])) / depth) * w) / 2, ((1 - (fy * (row(1) + pan[1])) / depth) * h) / 2];
    }

    // Vertex nearest to the surface point under (x, y), or -1. What is hidden cannot be hit.
    pick(x, y) {
      const { turn, pan, zoom } = this.camera;
      const { clientWidth: w, clientHeight: h } = this.canvas;
      const [fx, fy] = this.lens(zoom);
      const [dx, dy] = [((2 * x) / w - 1) / fx, (1 - (2 * y) / h) / fy];
      const back = (a, b, c) => [0, 1, 2].map((k) => turn[k] * a + turn[3 + k] * b + turn[6 + k] * c);
      const [ox, oy, oz] = back(-pan[0], -pan[1], EYE);
      const [rx, ry, rz] = back(dx, dy, -1);
      const { points, faces } = this.mesh;
      const hidden = this.hidden;
      let [best, found] = [Infinity, -1];
      for (let f = 0; f < faces.length; f += 3) {
        const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
        const ux = points[b] - points[a], uy = points[b + 1] - points[a + 1], uz = points[b + 2] - points[a + 2];
        const vx = points[c] - points[a], vy = points[c + 1] - points[a + 1], vz = points[c + 2] - points[a + 2];
        const px = ry * vz - rz * vy, py = rz * vx - rx * vz, pz = rx * vy - ry * vx;
        const det = ux * px + uy * py + uz * pz;
        if (det === 0) continue;
        const tx = ox - points[a], ty = oy - points[a + 1], tz = oz - points[a + 2];
        const s = (tx * px + ty * py + tz * pz) / det;
        if (s < 0 || s > 1) continue;
        const qx = ty * uz - tz * uy, qy = tz * ux - tx * uz, qz = tx * uy - ty * ux;
        const t = (rx * qx + ry * qy + rz * qz) / det;
        if (t < 0 || s + t > 1) continue;
        const distance = (vx * qx + vy * qy + vz * qz) / det;
        if (distance <= 0 || distance >= best) continue;
        const first = 1 - s - t;
        const vertex = first >= s && first >= t ? faces[f] : s >= t ? faces[f + 1] : faces[f + 2];
        if (hidden.size && hidden.has(this.current.values[vertex])) continue;
        [best, found] = [distance, vertex];
      }
      return found;
    }

    colourBy(colouring) {
      this.current = colouring;
      this.paints ??= new Map();
      if (!this.paints.has(colouring)) this.paints.set(colouring, paintOf(this, colouring));
      this.paint = this.paints.get(colouring);
      this.hide(colouring && colouring.kind === "labels" ? colouring.hidden : new Set());
      this.drawScale();
    }

    hide(classes) {
      this.hidden = classes;
      this.edgeLines = null;
      if (this.current && this.current.kind === "labels") {
        this.current.hidden = classes;
        const ramp = opaque(this.current.ramp);
        for (const k of classes) ramp[4 * k + 3] = 0;
        painter().ramp(ramp, false, false, this.paint.ramp);
      }
      this.viewer.refresh();
    }

    // The edges between vertices that are not hidden.
    lines() {
      if (!this.edgeLines) {
        let pairs = (this.mesh.edges ??= edgesOf(this.mesh));
        const seen = (v) => !this.hidden.has(this.current.values[v]);
        if (this.hidden.size) pairs = pairs.filter((v, i) => seen(v) && seen(pairs[i ^ 1]));
        const indices = painter().buffer(Uint32Array.from(pairs), null, painter().gl.ELEMENT_ARRAY_BUFFER);
        const array = painter().array(painter().edges, { point: [this.mesh.pointBuffer, 3] }, indices);
        this.edgeLines = { array, count: pairs.length };
      }
      return this.edgeLines;
    }

    drawScale() {
      this.scale.replaceChildren();
      const colouring = this.current;
      if (!colouring) return;
      if (colouring.kind === "scalar") {
        const bar = make("div", "fc-bar");
        const stops = [];
        for (let k = 0; k <= 32; k++) {
          const at = 3 * Math.round((k / 32) * (colouring.ramp.length / 3 - 1));
          stops.push(`rgb(${colouring.ramp.subarray(at, at + 3).join(",")})`);
        }
        bar.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
        const ticks = make("div", "fc-ticks");
        const [low, high] = colouring.limits;
        ticks.append(make("span", "", format(low)), make("span", "fc-quantity", colouring.name), make("span", "", format(high)));
        this.scale.append(bar, ticks);
      } else if (colouring.kind === "polar") {
        const wheel = make("canvas", "fc-wheel");
        wheel.width = wheel.height = 96;
        this.drawWheel(wheel, colouring);
        const text = make("div", "fc-key");
        text.append(make("strong", "", colouring.name), make("span", "", `hue: angle θ, dark line at θ = 0`), make("span", "", `rings: distance, edge at r = ${format(colouring.radius)}`));
        const row = make("div", "fc-polar");
        row.append(wheel, text);
        this.scale.append(row);
      } else {
        this.scale.append(make("div", "fc-quantity", colouring.kind === "colours" && colouring.match ? `${colouring.name}: same colour, same point` : colouring.name));
      }
    }

    drawWheel(canvas, { ramp }) {
      const size = canvas.width;
      const context = canvas.getContext("2d");
      const image = context.createImageData(size, size);
      for (let i = 0; i < size * size; i++) {
        const x = ((i % size) + 0.5) / (size / 2) - 1, y = 1 - (((i / size) | 0) + 0.5) / (size / 2);
        const r = Math.hypot(x, y);
        if (r > 1) continue;
        const k = 3 * ((Math.floor((Math.atan2(y, x) / (2 * Math.PI) + 1) * (ramp.length / 3))) % (ramp.length / 3));
        const band = Math.abs(((r * 2.5) % 1) - 0.5) > 0.25 ? 1.06 : 0.74;
        const dark = x > 0 && Math.abs(y) < 0.02 ? 0.2 : 1;
        for (let c = 0; c < 3; c++) image.data[4 * i + c] = Math.min(255, ramp[k + c] * band * dark);
        image.data[4 * i + 3] = 255;
      }
      context.putImageData(image, 0, 0);
    }

    resize() {
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
      const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
      if (this.canvas.width === width && this.canvas.height === height) return;
      [this.canvas.width, this.canvas.height] = [width, height];
      this.viewer.refresh();
    }

    mark(v) {
      this.marked = v;
      this.marker.style.display = v < 0 ? "none" : "block";
      if (v >= 0) {
        const [x, y] = this.project(v);
        this.marker.style.transform = `translate(${x}px, ${y}px)`;
      }
    }

    hover(x, y) {
      const v = this.pick(x, y);
      const tip = this.viewer.tip;
      for (const view of this.viewer.views) view.mark(-1);
      tip.style.display = v < 0 ? "none" : "block";
      if (v < 0) return;
      this.mark(v);
      const first = this.viewer.views[0];
      for (const { match } of this.colourings) if (match && first !== this && match[v] >= 0) first.mark(match[v]);
      tip.replaceChildren(make("strong", "", `vertex ${v}`));
      for (const colouring of this.colourings) {
        const text = colouring.describe(v);
        if (text === null) continue;
        const line = make("div", "fc-line");
        line.append(make("span", "fc-what", colouring.name), make("span", "fc-value", text));
        tip.append(line);
      }
      const box = this.canvas.getBoundingClientRect();
      const [w, h] = [tip.offsetWidth, tip.offsetHeight];
      let [left, top] = [box.left + x + 14, box.top + y + 14];
      if (left + w > window.innerWidth - 6) left = Math.max(6, box.left + x - w - 14);
      if (top + h > window.innerHeight - 6) top = Math.max(6, box.top + y - h - 14);
      tip.style.left = `${left}px`;
      tip.style.top = `${top}px`;
    }

    turnBy(dx, dy) {
      const speed = Math.PI / Math.min(this.canvas.clientWidth, this.canvas.clientHeight);
      this.camera.turn = tidy(times(times(aboutX(dy * speed), aboutY(dx * speed)), this.camera.turn));
      this.viewer.move();
    }

    panBy(dx, dy) {
      const { clientWidth: w, clientHeight: h } = this.canvas;
      const [fx, fy] = this.lens(this.camera.zoom);
      this.camera.pan = [this.camera.pan[0] + ((2 * dx) / w) * (EYE / fx), this.camera.pan[1] - ((2 * dy) / h) * (EYE / fy)];
      this.viewer.move();
    }

    // Zoom about the point under (x, y), which stays where it is.
    zoomBy(factor, x, y) {
      const camera = this.camera;
      const { clientWidth: w, clientHeight: h } = this.canvas;
      const zoom = Math.min(60, Math.max(0.3, camera.zoom * factor));
      const before = this.lens(camera.zoom), after = this.lens(zoom);
      const [cx, cy] = [(2 * x) / w - 1, 1 - (2 * y) / h];
      camera.pan = [camera.pan[0] + cx * EYE * (1 / after[0] - 1 / before[0]), camera.pan[1] + cy * EYE * (1 / after[1] - 1 / before[1])];
      camera.zoom = zoom;
      this.viewer.move();
    }

    listen() {
      const canvas = this.canvas;
      const fingers = new Map();
      const local = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
      let waiting = null; // latest hover, looked up once per frame
      let travelled = 0;
      canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        fingers.set(event.pointerId, local(event));
        travelled = 0;
        canvas.classList.add("fc-held");
        this.viewer.unmark();
      });
      canvas.addEventListener("pointermove", (event) => {
        const at = local(event);
        const before = fingers.get(event.pointerId);
        if (!before) {
          if (event.pointerType === "touch") return;
          if (!waiting) requestAnimationFrame(() => { this.hover(...waiting); waiting = null; });
          waiting = at;
          return;
        }
        const [dx, dy] = [at[0] - before[0], at[1] - before[1]];
        travelled += Math.abs(dx) + Math.abs(dy);
        if (fingers.size === 2) {
          const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
          const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
          const middle = [(at[0] + other[0]) / 2, (at[1] + other[1]) / 2];
          this.panBy(dx / 2, dy / 2);
          this.zoomBy(apart(at) / Math.max(1, apart(before)), ...middle);
        } else if (event.buttons & 6 || event.shiftKey || event.ctrlKey) this.panBy(dx, dy);
        else this.turnBy(dx, dy);
        fingers.set(event.pointerId, at);
      });
      const release = (event) => {
        const tapped = fingers.delete(event.pointerId) && event.pointerType === "touch" && travelled < 8;
        if (!fingers.size) canvas.classList.remove("fc-held");
        if (tapped) this.hover(...local(event)); // a finger cannot hover: a tap asks for the vertex
      };
      canvas.addEventListener("pointerup", release);
      canvas.addEventListener("pointercancel", release);
      canvas.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "touch") this.viewer.unmark(); // a lifted finger leaves too
      });
      canvas.addEventListener("contextmenu", (event) => event.preventDefault());
      canvas.addEventListener("dblclick", () => this.viewer.reset());
      canvas.addEventListener("wheel", (event) => {
        event.preventDefault();
        const lines = event.deltaMode === 1 ? 16 : 1;
        this.viewer.unmark();
        this.zoomBy(Math.exp(-event.deltaY * lines * 0.0015), ...local(event));
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] }[event.key];
        const middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
        if (step) event.shiftKey ? this.panBy(...step) : this.turnBy(...step);
        else if (event.key === "+" || event.key === "=") this.zoomBy(1.15, ...middle);
        else if (event.key === "-") this.zoomBy(1 / 1.15, ...middle);
        else if (event.key === "0") this.viewer.reset();
        else return;
        event.preventDefault();
      });
    }
  }

  // ---------------------------------------------------------------- views that belong together
  class Viewer {
    constructor(root, spec) {
      Object.assign(this, { root, spec, views: [], edges: false, linked: true, waiting: false, moving: false, touched: false, detail: 1 });
      this.plain = spec.plain.map((c) => c / 255);
      this.camera = this.home();
      this.arrows = spec.panels.some((panel) => panel.colourings.some(({ arrows }) => arrows && arrows.shown));
      this.tools = make("div", "fc-tools");
      this.legends = make("div", "fc-legends");
      this.grid = make("div", "fc-grid");
      this.grid.style.setProperty("--columns", spec.columns);
      this.tip = make("div", "fc-tip");
      this.tip.setAttribute("role", "status");
      root.replaceChildren(this.tools, this.legends, this.grid, this.tip);
    }

    // The view the page starts with: every mesh as large as it goes.
    home() {
      const camera = { turn: Float32Array.from(this.spec.camera.turn), zoom: this.spec.camera.zoom, pan: [0, 0] };
      if (this.spec.camera.fit && this.views.length) camera.zoom *= Math.min(...this.views.map((view) => view.fit(camera)));
      return camera;
    }

    async start() {
      const meshes = await Promise.all(this.spec.meshes.map(readMesh));
      const colourings = await Promise.all(this.spec.panels.map((panel) => Promise.all(panel.colourings.map(readColouring))));
      for (const [k, panel] of this.spec.panels.entries()) {
        const view = new View(this, panel, meshes[panel.mesh], colourings[k]);
        this.views.push(view);
        this.grid.append(view.figure);
      }
      this.buildTools();
      for (const view of this.views) view.colourBy(view.colourings[0] || null);
      this.buildLegends();
      const resize = () => {
        for (const view of this.views) view.resize();
        if (!this.touched) this.reset();
      };
      const watcher = new ResizeObserver(resize);
      for (const view of this.views) watcher.observe(view.stage);
      resize();
      this.draw();
      painter().gl.finish();
    }

    buildTools() {
      const names = [...new Set(this.views.flatMap((view) => view.colourings.map((c) => c.name)))];
      if (this.views.some((view) => view.colourings.length > 1)) {
        const label = make("label", "fc-field", "Colour by ");
        const select = make("select", "fc-select");
        const first = this.views.map((view) => view.colourings[0] && view.colourings[0].name);
        if (new Set(first).size > 1) select.append(new Option("each its own", ""));
        names.forEach((name) => select.append(new Option(name, name)));
        if (new Set(first).size === 1) select.value = first[0];
        select.addEventListener("change", () => {
          for (const view of this.views) {
            const chosen = select.value ? view.colourings.find((c) => c.name === select.value) : view.colourings[0];
            if (chosen) view.colourBy(chosen);
          }
          this.buildLegends();
        });
        label.append(select);
        this.tools.append(label);
      }
      const toggle = (text, key) => {
        const button = make("button", "fc-toggle", text);
        button.type = "button";
        button.dataset.tool = key;
        button.setAttribute("aria-pressed", this[key]);
        button.addEventListener("click", () => {
          this[key] = !this[key];
          button.setAttribute("aria-pressed", this[key]);
          if (key === "linked") for (const view of this.views) view.camera = this[key] ? this.camera : { ...view.camera };
          this.refresh();
        });
        this.tools.append(button);
      };
      if (this.views.some((view) => view.colourings.some((c) => c.arrows))) toggle("Arrows", "arrows");
      toggle("Edges", "edges");
      if (this.views.length > 1) toggle("Turn together", "linked");
      const reset = make("button", "fc-toggle", "Reset view");
      reset.type = "button";
      reset.dataset.tool = "reset";
      reset.addEventListener("click", () => this.reset());
      this.tools.append(reset);
      this.tools.append(make("span", "fc-help", matchMedia("(pointer: coarse)").matches
        ? "drag: turn · two fingers: zoom, pan · tap: vertex"
        : "drag: turn · wheel: zoom · right or shift drag: pan"));
    }

    // One legend per set of classes; a click switches a class everywhere, a double click leaves it alone.
    buildLegends() {
      this.legends.replaceChildren();
      const groups = new Map();
      for (const view of this.views) {
        const colouring = view.current;
        if (!colouring || colouring.kind !== "labels") continue;
        const key = JSON.stringify(colouring.names);
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(view);
      }
      for (const views of groups.values()) {
        const { names, ramp, hidden } = views[0].current;
        const used = new Set(views.flatMap((view) => [...new Set(view.current.values)]));
        const legend = make("div", "fc-legend");
        const chips = names.map((name, k) => {
          const chip = make("button", "fc-chip");
          chip.type = "button";
          chip.dataset.class = k;
          chip.title = "click: show or hide; double click: show only this";
          const swatch = make("span", "fc-swatch");
          swatch.style.backgroundColor = `rgb(${ramp.subarray(3 * k, 3 * k + 3).join(",")})`;
          chip.append(swatch, make("span", "", name));
          return chip;
        });
        const show = (next) => {
          chips.forEach((chip, k) => chip.setAttribute("aria-pressed", !next.has(k)));
          for (const view of views) view.hide(next);
        };
        chips.forEach((chip, k) => {
          chip.setAttribute("aria-pressed", !hidden.has(k));
          chip.addEventListener("click", () => {
            const next = new Set(views[0].current.hidden);
            next.has(k) ? next.delete(k) : next.add(k);
            show(next);
          });
          chip.addEventListener("dblclick", () => {
            const others = [...used].filter((other) => other >= 0 && other !== k);
            const alone = others.every((other) => views[0].current.hidden.has(other));
            show(alone ? new Set() : new Set(others));
          });
        });
        legend.append(...chips.filter((_, k) => used.has(k)));
        if (legend.childElementCount > 24) legend.classList.add("fc-many");
        this.legends.append(legend);
      }
    }

    reset() {
      this.touched = false;
      Object.assign(this.camera, this.home());
      if (!this.linked) for (const view of this.views) Object.assign(view.camera, this.home());
      this.refresh();
    }

    unmark() {
      this.tip.style.display = "none";
      for (const view of this.views) view.mark(-1);
    }

    refresh() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => this.draw());
    }

    // While things move, a slow computer draws coarser pictures; at rest every picture is sharp.
    move() {
      this.moving = this.touched = true;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => {
        this.moving = false;
        if (this.detail < 1) this.refresh();
      }, 200);
      this.refresh();
    }

    draw() {
      this.waiting = false;
      const start = performance.now();
      for (const view of this.views) {
        if (!view.paint) continue;
        painter().draw(view, this.moving ? this.detail : 1);
        if (view.marked >= 0) view.mark(view.marked);
      }
      const wanted = 40; // milliseconds
      const change = Math.sqrt(wanted / Math.max(1, performance.now() - start));
      this.detail = Math.min(1, Math.max(0.35, (this.moving ? this.detail : 1) * change));
    }
  }

  window.fieldconv = { viewers: [], ready: false, firstPicture: null };

  async function startAll() {
    for (const root of document.querySelectorAll("[data-fieldconv]")) {
      const spec = JSON.parse(document.getElementById(root.dataset.fieldconv).textContent);
      const viewer = new Viewer(root, spec);
      window.fieldconv.viewers.push(viewer);
      try {
        await viewer.start();
      } catch (problem) {
        console.error(problem);
        root.replaceChildren(make("p", "fc-problem", `${problem.message} Use a current browser, or make a picture with --png.`));
      }
      window.fieldconv.firstPicture ??= performance.now();
    }
    window.fieldconv.ready = true;
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startAll);
  else startAll();
})();
