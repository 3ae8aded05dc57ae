// 3-D views of meshes with WebGL 2. One shared context draws every view of a page and copies it to the canvas of
// the view, so a page may hold any number of views.
"use strict";
(() => {
  const FOCAL = 1 / Math.tan((15 * Math.PI) / 180);
  const EYE = 1.03 / Math.sin((15 * Math.PI) / 180); // distance from which the unit ball just fits
  const MAX_COARSE_FACES = 14000; // drawn in a few hundredths of a second without a graphics card
  const MAX_FRAME_MS = 30; // longer frames mean a slow computer
  const QUICK_DETAIL = 0.6; // share of the pixels along each side, while a slow computer moves a large mesh
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
  const LIGHT = `float shadeOf(vec3 n, vec3 toward) {
      vec3 light = normalize(vec3(-0.35, 0.55, 0.75));
      return 0.46 + 0.42 * max(dot(n, light), 0.0) + 0.06 * (1.0 + n.y) + 0.12 * max(dot(n, toward), 0.0);
    }
    float glossOf(vec3 n, vec3 toward) {
      vec3 light = normalize(vec3(-0.35, 0.55, 0.75));
      return 0.07 * pow(max(dot(n, normalize(light + toward)), 0.0), 40.0);
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
  // One program per mode: without unused branches, and without "discard" where nothing can be hidden, it is
  // several times faster on a computer without a graphics card.
  const surfaceFragment = (mode) => `#version 300 es
    precision highp float;
    uniform sampler2D ramp;
    uniform int size; uniform vec3 plain;
    in vec3 weights, normal, place; in vec4 mean;
    out vec4 colour;
    ${LIGHT}
    void main() {
      vec3 paint = plain;
      #if ${mode} == ${MODES.labels} // the class of the nearest corner
        float near = weights.x >= max(weights.y, weights.z) ? mean.x : weights.y >= weights.z ? mean.y : mean.z;
        if (near > -0.5) {
          vec4 found = texelFetch(ramp, ivec2(int(near + 0.5), 0), 0);
          if (found.a < 0.5) discard;
          paint = found.rgb;
        }
      #elif ${mode} == ${MODES.scalar} // corners without a value have weight zero
        if (mean.a > 0.5) paint = texture(ramp, vec2((mean.r / mean.a * float(size - 1) + 0.5) / float(size), 0.5)).rgb;
      #elif ${mode} == ${MODES.colours}
        paint = mean.rgb;
      #elif ${mode} == ${MODES.polar}
        if (mean.a > 0.999) {
          float ring = 2.5 * length(mean.rg), soft = fwidth(ring);
          paint = texture(ramp, vec2(fract(atan(mean.g, mean.r) / 6.2831853), 0.5)).rgb;
          paint *= mix(0.74, 1.06, smoothstep(-soft, soft, abs(fract(ring) - 0.5) - 0.25));
          float spoke = abs(mean.g) / max(fwidth(mean.g), 1e-9);
          if (mean.r > 0.0) paint = mix(paint, vec3(0.1), 0.75 * clamp(1.6 - spoke, 0.0, 1.0));
        }
      #endif
      // The normal on the visible side, for either orientation of the face.
      vec3 facing = normalize(cross(dFdx(place), dFdy(place)));
      vec3 n = normalize(normal + 1e-6 * facing);
      if (dot(n, facing) < 0.0) n = -n;
      vec3 toward = normalize(-place);
      colour = vec4(paint * shadeOf(n, toward) + glossOf(n, toward), 1);
    }`;
  // For a slow computer while things move: colour and light are computed at the vertices only.
  const quickVertex = (mode) => `#version 300 es
    precision highp float;
    in vec3 point, direction; in vec4 value;
    uniform mat3 turn; uniform vec2 pan, lens;
    uniform sampler2D ramp;
    uniform int size; uniform vec3 plain;
    out vec3 lit;
    ${CLIP} ${LIGHT}
    void main() {
      vec3 paint = plain;
      #if ${mode} == ${MODES.labels}
        if (value.x > -0.5) paint = texelFetch(ramp, ivec2(int(value.x + 0.5), 0), 0).rgb;
      #elif ${mode} == ${MODES.scalar}
        if (value.a > 0.5) paint = texelFetch(ramp, ivec2(int(value.r * float(size - 1) + 0.5), 0), 0).rgb;
      #elif ${mode} == ${MODES.colours}
        paint = value.rgb;
      #elif ${mode} == ${MODES.polar}
        if (value.a > 0.5) paint = texture(ramp, vec2(fract(atan(value.g, value.r) / 6.2831853), 0.5)).rgb;
      #endif
      vec3 place = turn * point + vec3(pan, -${EYE}), toward = normalize(-place), n = turn * direction;
      if (dot(n, toward) < 0.0) n = -n;
      lit = paint * shadeOf(n, toward) + glossOf(n, toward);
      gl_Position = clip(lens, place);
    }`;
  const QUICK_FRAGMENT = `#version 300 es
    precision mediump float;
    in vec3 lit;
    out vec4 colour;
    void main() { colour = vec4(lit, 1); }`;
  const EDGE_VERTEX = `#version 300 es
    precision highp float;
    in vec3 point;
    uniform mat3 turn; uniform vec2 pan, lens;
    ${CLIP}
    void main() {
      gl_Position = clip(lens, turn * point + vec3(pan, -${EYE}));
      gl_Position.z -= 2e-4 * gl_Position.w; // in front of its faces
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
  // A flat arrow of length one, as (along, sideways), and the offset of each corner of its border.
  const ARROW_SHAPE = new Float32Array([
    0, -0.05, 0.6, -0.05, 0.6, 0.05, 0, -0.05, 0.6, 0.05, 0, 0.05, 0.55, -0.2, 1, 0, 0.55, 0.2,
  ]);
  const ARROW_BORDER = new Float32Array([-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1, -1, -1.6, 2.2, 0, -1, 1.6]);

  const SURFACE_INPUTS = ["point", "direction", "value"];

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
      this.surfaces = new Map();
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
      // One array of inputs serves all programs that draw surfaces.
      SURFACE_INPUTS.forEach((name, place) => gl.bindAttribLocation(program, place, name));
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

    // The program that draws surfaces in a mode, slowly and well or quickly.
    surface(mode, quick) {
      const key = `${mode} ${quick}`;
      if (!this.surfaces.has(key))
        this.surfaces.set(key, quick ? this.program(quickVertex(mode), QUICK_FRAGMENT) : this.program(SURFACE_VERTEX, surfaceFragment(mode)));
      return this.surfaces.get(key);
    }

    buffer(values, old = null, kind = this.gl.ARRAY_BUFFER) {
      const gl = this.gl;
      const buffer = old || gl.createBuffer();
      gl.bindVertexArray(null);
      gl.bindBuffer(kind, buffer);
      gl.bufferData(kind, values, gl.STATIC_DRAW);
      return buffer;
    }

    // Inputs of a program, or of those that draw surfaces: name → [buffer, numbers per item, step per instance].
    array(program, inputs, indices = null) {
      const gl = this.gl;
      const array = gl.createVertexArray();
      gl.bindVertexArray(array);
      for (const [name, [buffer, size, step = 0]] of Object.entries(inputs)) {
        const place = program ? gl.getAttribLocation(program.program, name) : SURFACE_INPUTS.indexOf(name);
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

    // The browser copies the whole of this canvas each time, so it should not be much larger than the picture.
    makeRoom(width, height) {
      const canvas = this.canvas;
      const small = canvas.width < width || canvas.height < height;
      if (!small && canvas.width * canvas.height < 1.5 * width * height) return;
      canvas.width = small ? Math.max(canvas.width, width) : width;
      canvas.height = small ? Math.max(canvas.height, height) : height;
    }

    // Detail below one draws fewer pixels and stretches them; coarse draws fewer faces and no edges.
    draw(view, detail, coarse) {
      const gl = this.gl;
      const [width, height] = [view.canvas.width, view.canvas.height].map((side) => Math.ceil(side * detail));
      this.makeRoom(width, height);
      const bottom = this.canvas.height - height;
      gl.viewport(0, bottom, width, height);
      gl.scissor(0, Math.max(0, bottom - 2), width + 2, height + 2); // stretching reads a little beyond the edge
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.scissor(0, bottom, width, height);
      const { paint, viewer } = view;
      const uniforms = this.use(this.surface(paint.mode, coarse), view);
      gl.bindTexture(gl.TEXTURE_2D, paint.ramp);
      gl.uniform1i(uniforms.size, paint.size);
      gl.uniform3fv(uniforms.plain, viewer.plain);
      const { whole, mixed } = coarse ? view.coarseTriangles() : paint.full;
      gl.bindVertexArray(whole.array);
      gl.drawElements(gl.TRIANGLES, whole.count, gl.UNSIGNED_INT, 0);
      if (mixed.count) {
        gl.bindVertexArray(mixed.array);
        gl.drawArrays(gl.TRIANGLES, 0, mixed.count);
      }
      if (viewer.edges && !coarse) {
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

  // At most about so many faces that look alike from afar: the vertices in a cell of a grid become
  // the vertex nearest to its middle, so that both use the same buffers of positions and values.
  function coarseFaces({ points, faces, count }, most) {
    if (faces.length <= 3 * most) return faces;
    const stand = new Uint32Array(count);
    let kept = faces;
    // A surface fills about as many cells as a few times the square of the cells along an axis.
    for (let cells = Math.ceil(Math.sqrt(most)); cells > 2 && kept.length > 3 * most; cells = Math.floor(cells * 0.8)) {
      const nearest = new Map();
      const cell = (x) => Math.min(cells - 1, Math.floor(((x + 1) / 2) * cells));
      const middle = (x) => ((cell(x) + 0.5) * 2) / cells - 1;
      const place = (v) => (cell(points[3 * v]) * cells + cell(points[3 * v + 1])) * cells + cell(points[3 * v + 2]);
      const far = (v) => [0, 1, 2].reduce((sum, k) => sum + (points[3 * v + k] - middle(points[3 * v + k])) ** 2, 0);
      for (let v = 0; v < count; v++) {
        const key = place(v), distance = far(v), best = nearest.get(key);
        if (!best) nearest.set(key, [v, distance]);
        else if (distance < best[1]) [best[0], best[1]] = [v, distance];
      }
      for (let v = 0; v < count; v++) stand[v] = nearest.get(place(v))[0];
      kept = [];
      for (let f = 0; f < faces.length; f += 3) {
        const a = stand[faces[f]], b = stand[faces[f + 1]], c = stand[faces[f + 2]];
        if (a !== b && b !== c && c !== a) kept.push(a, b, c);
      }
    }
    return Uint32Array.from(kept);
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
    if (kind === "labels") {
      ramp = opaque(colouring.ramp);
      for (let v = 0; v < count; v++) values.fill(given[v], 4 * v, 4 * v + 3);
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
    const inputs = { point: [mesh.pointBuffer, 3], direction: [mesh.normalBuffer, 3], value: [paint.buffer(values), 4] };
    const trianglesOf = (faces, simply = kind !== "labels") => {
      const [whole, mixed] = simply ? [faces, new Uint32Array(0)] : byAgreement(faces, given);
      const indices = paint.buffer(whole, null, paint.gl.ELEMENT_ARRAY_BUFFER);
      return {
        whole: { array: paint.array(null, inputs, indices), count: whole.length },
        mixed: { array: mixed.length && paint.array(null, apart(mesh, mixed, given)), count: mixed.length },
      };
    };
    return {
      mode: MODES[kind],
      size: ramp.length / 4,
      ramp: paint.ramp(ramp, kind !== "labels", kind === "polar"),
      trianglesOf,
      full: trianglesOf(faces),
      coarse: null, // computed when a slow computer first moves the view
      arrows: colouring && colouring.arrows ? paint.arrowArray(mesh, colouring.arrows) : null,
    };
  }

  // Corners of the faces whose corners have one class, and of the others.
  function byAgreement(faces, classes) {
    const parts = [[], []];
    for (let f = 0; f < faces.length; f += 3) {
      const label = classes[faces[f]];
      const same = label === classes[faces[f + 1]] && label === classes[faces[f + 2]];
      parts[same ? 0 : 1].push(faces[f], faces[f + 1], faces[f + 2]);
    }
    return parts.map((part) => Uint32Array.from(part));
  }

  // Inputs of faces whose corners differ in class: each corner knows the classes of all three.
  function apart(mesh, corners, classes) {
    const gather = (from) => {
      const out = new Float32Array(3 * corners.length);
      for (let i = 0; i < out.length; i++) out[i] = from[3 * corners[(i / 3) | 0] + (i % 3)];
      return painter().buffer(out);
    };
    const values = new Float32Array(4 * corners.length);
    for (let i = 0; i < corners.length; i++)
      for (let k = 0; k < 3; k++) values[4 * i + k] = classes[corners[i - (i % 3) + k]];
    return { point: [gather(mesh.points), 3], direction: [gather(mesh.normals), 3], value: [painter().buffer(values), 4] };
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
  // Make the rows orthonormal again: rounding errors accumulate over many small turns.
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
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-roledescription", "3-D view");
      this.canvas.setAttribute("aria-label", `${spec.title}, ${spec.note}`);
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

    // Vertex nearest to the surface point under (x, y), or -1; hidden classes are ignored.
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
      this.paint.coarse = null;
      if (this.current && this.current.kind === "labels") {
        this.current.hidden = classes;
        const ramp = opaque(this.current.ramp);
        for (const k of classes) ramp[4 * k + 3] = 0;
        painter().ramp(ramp, false, false, this.paint.ramp);
      }
      this.viewer.refresh();
    }

    // Faces of a coarse view, few enough for smooth motion of all views of the page together.
    get coarseCount() {
      return Math.max(4000, MAX_COARSE_FACES / this.viewer.views.length);
    }

    get large() {
      return this.mesh.faces.length > 3 * this.coarseCount;
    }

    coarseTriangles() {
      this.mesh.coarse ??= coarseFaces(this.mesh, this.coarseCount);
      if (!this.paint.coarse) {
        let faces = this.mesh.coarse;
        if (this.hidden.size) {
          const seen = (v) => !this.hidden.has(this.current.values[v]);
          faces = faces.filter((_, i) => [0, 1, 2].every((k) => seen(faces[i - (i % 3) + k])));
        }
        this.paint.coarse = this.paint.trianglesOf(faces, true);
      }
      return this.paint.coarse;
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
      if (v < 0) return;
      const [x, y] = this.project(v);
      this.marker.style.transform = `translate(${x}px, ${y}px)`;
      const { turn } = this.camera;
      const [nx, ny, nz] = this.mesh.normals.subarray(3 * v, 3 * v + 3);
      this.marker.classList.toggle("fc-behind", turn[6] * nx + turn[7] * ny + turn[8] * nz < 0);
    }

    hover(x, y) {
      if (this.viewer.pinned) return;
      const v = this.pick(x, y);
      this.viewer.unmark();
      if (v >= 0) this.tell(v, x, y);
    }

    // Pin the vertex under (x, y), with its values; where there is none, unpin.
    pin(x, y) {
      this.viewer.unpin();
      const v = this.pick(x, y);
      if (v < 0) return;
      this.viewer.pinned = this;
      this.tell(v, ...this.project(v));
      const said = this.colourings.map((c) => [c.name, c.describe(v)]).filter(([, text]) => text !== null);
      this.viewer.voice.textContent = [`Vertex ${v}`, ...said.map(([name, text]) => `${name}: ${text}`)].join(". ");
    }

    // For keys: the vertex in the middle of the canvas, or near it.
    pinMiddle() {
      const [x, y] = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
      if (this.pick(x, y) >= 0) return this.pin(x, y);
      let [best, place] = [Infinity, null];
      for (let v = 0; v < this.mesh.count; v++) {
        if (this.hidden.size && this.hidden.has(this.current.values[v])) continue;
        const [px, py] = this.project(v);
        const away = Math.hypot(px - x, py - y);
        if (away < best) [best, place] = [away, [px, py]];
      }
      if (!place) return;
      // A ray at the rim may miss: go a little further in.
      const steps = [0, 1, 2, 4, 8].map((k) => [0, 1].map((i) => place[i] + (k * (place[i] - [x, y][i])) / Math.max(1, best)));
      const hit = steps.find((step) => this.pick(...step) >= 0);
      if (hit) this.pin(...hit);
    }

    // Mark a vertex, and what it corresponds to, and show its values beside (x, y).
    tell(v, x, y) {
      const { tip, views, pinned } = this.viewer;
      this.mark(v);
      for (const { match } of this.colourings) if (match && views[0] !== this && match[v] >= 0) views[0].mark(match[v]);
      tip.replaceChildren(make("strong", "", `vertex ${v}`));
      for (const colouring of this.colourings) {
        const text = colouring.describe(v);
        if (text === null) continue;
        const line = make("div", "fc-line");
        line.append(make("span", "fc-what", colouring.name), make("span", "fc-value", text));
        tip.append(line);
      }
      tip.classList.toggle("fc-pinned", Boolean(pinned));
      if (pinned) {
        const close = make("button", "fc-close", "×");
        close.type = "button";
        close.setAttribute("aria-label", "Let go of this vertex");
        close.addEventListener("click", () => this.viewer.unpin());
        tip.append(close);
      }
      tip.style.display = "block";
      this.placeTip(x, y);
    }

    // Beside a point of the canvas, inside the window.
    placeTip(x, y) {
      const tip = this.viewer.tip;
      const box = this.canvas.getBoundingClientRect(), root = this.viewer.root.getBoundingClientRect();
      const [w, h] = [tip.offsetWidth, tip.offsetHeight];
      let [left, top] = [box.left + x + 14, box.top + y + 14];
      if (left + w > window.innerWidth - 6) left = Math.max(6, box.left + x - w - 14);
      if (top + h > Math.max(window.innerHeight, box.bottom) - 6) top = box.top + y - h - 14;
      tip.style.left = `${left - root.left}px`;
      tip.style.top = `${top - root.top}px`;
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
        if (travelled < 4) return; // a click, not a drag
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
        const held = fingers.delete(event.pointerId);
        if (!fingers.size) canvas.classList.remove("fc-held");
        if (held && event.type === "pointerup" && event.button === 0 && travelled < 8) this.pin(...local(event));
      };
      canvas.addEventListener("pointerup", release);
      canvas.addEventListener("pointercancel", release);
      canvas.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "touch") this.viewer.unmark(); // lifting a finger also leaves
      });
      canvas.addEventListener("contextmenu", (event) => event.preventDefault());
      canvas.addEventListener("dblclick", () => {
        this.viewer.unpin();
        this.viewer.reset();
      });
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
        else if (event.key === "u") this.viewer.turnUp();
        else if (event.key === "Enter" || event.key === " ") this.pinMiddle();
        else return;
        event.preventDefault();
      });
    }
  }

  // ---------------------------------------------------------------- views that belong together
  class Viewer {
    constructor(root, spec) {
      Object.assign(this, { root, spec, views: [], edges: false, linked: true, waiting: false, pinned: null, moving: false, touched: false, detail: 1, slow: false });
      this.plain = spec.plain.map((c) => c / 255);
      this.up = spec.camera.up;
      this.camera = this.home();
      this.arrows = spec.panels.some((panel) => panel.colourings.some(({ arrows }) => arrows && arrows.shown));
      this.tools = make("div", "fc-tools");
      this.legends = make("div", "fc-legends");
      this.grid = make("div", "fc-grid");
      this.grid.style.setProperty("--columns", spec.columns);
      this.tip = make("div", "fc-tip");
      this.voice = make("p", "fc-hidden"); // always present, so that screen readers announce changes
      this.voice.setAttribute("role", "status");
      root.replaceChildren(this.tools, this.legends, this.grid, this.tip, this.voice);
      root.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.unpin();
      });
    }

    // The first view of the page: every mesh as large as possible.
    home() {
      const camera = { turn: Float32Array.from(this.spec.camera.turns[this.up]), zoom: this.spec.camera.zoom, pan: [0, 0] };
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
      // Prepare it before the first motion.
      if (this.slow) setTimeout(() => this.views.forEach((view) => view.large && view.coarseTriangles()));
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
      const button = (key, text, act) => {
        const made = make("button", "fc-toggle", text);
        made.type = "button";
        made.dataset.tool = key;
        made.addEventListener("click", act);
        this.tools.append(made);
        return made;
      };
      this.upButton = button("up", "", () => this.turnUp());
      this.nameUp(this.spec.camera.guessed);
      button("reset", "Reset view", () => this.reset());
      const help = make("span", "fc-help", matchMedia("(pointer: coarse)").matches
        ? "drag: turn · two fingers: zoom, pan · tap: pin a vertex"
        : "drag: turn · wheel: zoom · right or shift drag: pan · click: pin a vertex");
      this.tools.append(help);
      const keys = make("p", "fc-hidden", "Keys: arrows turn, shift and arrows move, plus and minus zoom, Enter names the vertex in the middle, Escape lets go of it, u changes the axis that points up, 0 resets the view.");
      keys.id = `${this.root.dataset.fieldconv}-keys`;
      this.tools.append(keys);
      for (const view of this.views) view.canvas.setAttribute("aria-describedby", keys.id);
    }

    nameUp(guessed) {
      this.upButton.textContent = `Up: ${this.up}${guessed ? " (guessed)" : ""}`;
      this.upButton.title = `${guessed ? "The file does not say which axis points up; this is a guess by its size. " : ""}Click for the next axis.`;
    }

    turnUp() {
      const axes = Object.keys(this.spec.camera.turns).sort();
      this.up = axes[(axes.indexOf(this.up) + 1) % axes.length];
      this.nameUp(false);
      this.reset();
    }

    // One legend per set of classes; a click toggles a class everywhere, a double click shows it alone.
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

    // Remove the mark of the pointer, but not a pinned vertex.
    unmark() {
      if (this.pinned) return;
      this.tip.style.display = "none";
      for (const view of this.views) view.mark(-1);
    }

    unpin() {
      this.pinned = null;
      this.voice.textContent = "";
      this.unmark();
    }

    refresh() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => this.draw());
    }

    // While things move, a slow computer draws fewer faces and pixels; at rest it draws all of them.
    move() {
      this.moving = this.touched = true;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => {
        this.moving = false;
        if (this.detail < 1 || this.slow) this.refresh();
      }, 200);
      this.refresh();
    }

    draw() {
      this.waiting = false;
      const start = performance.now();
      for (const view of this.views) {
        if (!view.paint) continue;
        const quick = this.moving && this.slow && view.large;
        painter().draw(view, quick ? Math.min(QUICK_DETAIL, this.detail) : this.moving ? this.detail : 1, quick);
        if (view.marked >= 0) view.mark(view.marked);
      }
      if (this.pinned) this.pinned.placeTip(...this.pinned.project(this.pinned.marked));
      const spent = performance.now() - start;
      if (!this.moving) this.slow = spent > MAX_FRAME_MS;
      else this.detail = Math.min(1, Math.max(0.35, this.detail * Math.sqrt(MAX_FRAME_MS / Math.max(1, spent))));
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
