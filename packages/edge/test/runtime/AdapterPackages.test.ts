import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { distrustReason, loadAdapters } from "../../src/runtime/AdapterPackages.ts"
import { tries } from "@corral/testing/time/Effort"
import { temporaryFolder } from "../Folder.ts"

const capabilities = {
  deltas: true,
  approvals: false,
  editInput: false,
  resume: false,
  readOnly: false,
  cancel: false,
  input: false
}
const data = {
  specificationVersion: 1,
  id: "mine",
  label: "Mine",
  capabilities,
  probe: { command: "mine", versionArgs: ["--version"], install: "Install it." }
}
const source = (fields: object = data, how = "export default"): string => `${how} {
  ...${JSON.stringify(fields)},
  command: () => ({ file: "mine", args: [], stdin: "ignore" }),
  protocol: () => ({ open: "", step: () => [], end: () => [], answer: () => undefined, input: () => undefined, cancel: () => undefined })
}`

const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** Loads what is listed from a folder with these files. */
const loaded = (files: Readonly<Record<string, string>>, ...listed: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    for (const [name, content] of Object.entries(files)) write(join(folder, name), content)
    return yield* loadAdapters(join(folder, "edge.config.json"), listed, new Map(), process.env)
  })
const idsOf = (files: Readonly<Record<string, string>>, ...listed: ReadonlyArray<string>) =>
  Effect.map(loaded(files, ...listed), ({ adapters, problems }) => {
    assert.deepStrictEqual(problems(), [])
    return [...adapters.keys()]
  })
const refusal = (files: Readonly<Record<string, string>>, ...listed: ReadonlyArray<string>) =>
  Effect.map(loaded(files, ...listed), ({ problems }) => {
    const [message = "", ...more] = problems()
    assert.deepStrictEqual(more, [])
    assert.notInclude(message, "\n")
    assert.match(message, /^The adapter .* is not loaded: .*\.$/)
    return message.replace(/^.* is not loaded: /, "")
  })

const packageJson = (fields: object) =>
  JSON.stringify({ name: "@someone/adapter", type: "module", ...fields })
const inPackage = "node_modules/@someone/adapter"

describe("AdapterPackages", () => {
  it.effect("loads files and packages with any kind of export of the adapter", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* idsOf({ "a.mjs": source() }, "./a.mjs"), ["custom:mine"])
      assert.deepStrictEqual(yield* idsOf({ "a.mjs": source(data, "export const adapter =") }, "./a.mjs"), [
        "custom:mine"
      ])
      const instance = `class Adapter {
        command() {}
        protocol() { return { open: "", step() {}, end() {}, answer() {}, input() {}, cancel() {} } }
      }
        export default Object.assign(new Adapter(), ${JSON.stringify({ ...data, id: "custom:own" })})`
      const { adapters } = yield* loaded({ "a.mjs": instance }, "./a.mjs")
      assert.isFunction(adapters.get("custom:own")?.protocol)
      for (const exports of ["./x.js", { ".": "./x.js" }, { ".": { types: "./x.d.ts", import: "./x.js" } }]) {
        const files = {
          [`${inPackage}/package.json`]: packageJson({ exports }),
          [`${inPackage}/x.js`]: source()
        }
        assert.deepStrictEqual(yield* idsOf(files, "@someone/adapter"), ["custom:mine"])
        assert.deepStrictEqual(yield* idsOf(files, `./${inPackage}`), ["custom:mine"])
      }
      const main = {
        [`${inPackage}/package.json`]: packageJson({ main: "x.js" }),
        [`${inPackage}/x.js`]: source()
      }
      assert.deepStrictEqual(yield* idsOf(main, "@someone/adapter"), ["custom:mine"])
    })
  )

  const refused: ReadonlyArray<readonly [name: string, module: string, why: RegExp]> = [
    ["no adapter", "export const other = 1", /exports no adapter/],
    ["a function", "export default () => {}", /exports no adapter/],
    [
      "another version",
      source({ ...data, specificationVersion: 3 }),
      /specificationVersion is 3.*versions 1 and 2/
    ],
    ["a version as text", source({ ...data, specificationVersion: "1" }), /specificationVersion is "1", and/],
    [
      "no version",
      source({ ...data, specificationVersion: undefined }),
      /it has no specificationVersion, and/
    ],
    ["no id", source({ ...data, id: undefined }), /not an adapter: id/],
    ["an id that is none", source({ ...data, id: "../up" }), /not an adapter: id/],
    [
      "a capability that is none",
      source({ ...data, capabilities: {} }),
      /not an adapter: capabilities\.deltas/
    ],
    ["a label of several lines", source({ ...data, label: "a\nb" }), /not an adapter: label/],
    [
      "project settings that are none",
      source({ ...data, projectSettings: 5 }),
      /not an adapter: projectSettings/
    ],
    [
      "a project file that no system can have",
      source({ ...data, projectSettings: { files: [{ path: "a\0", runs: "hooks" }] } }),
      /not an adapter: projectSettings\.files\.0\.path/
    ],
    [
      "a host that is none",
      source({ ...data, network: { hosts: ["https://example.com"] } }),
      /not an adapter: network\.hosts\.0/
    ],
    [
      "a key for any host below a name",
      source({
        ...data,
        network: { hosts: [], keys: [{ variable: "MODEL_KEY", headers: ["x-api-key"], hosts: ["*.test"] }] }
      }),
      /not an adapter: network\.keys\.0\.hosts\.0/
    ],
    ["no probe", source({ ...data, probe: undefined }), /not an adapter: probe/],
    ["a stream protocol", source().replace("step:", "decode:"), /failed: its protocol has `decode`/],
    [
      "a protocol that is none",
      source().replace(/protocol: .*/, "protocol: () => null"),
      /returned no object/
    ],
    [
      "a protocol that throws",
      source().replace(/protocol: .*/, "protocol: () => { throw 1 }"),
      /it failed: 1/
    ],
    ["an end of the process at import", "process.exit(0)", /it ended its thread/],
    ["no functions", `export default ${JSON.stringify(data)}`, /not an adapter: command/],
    ["a throw at import", 'throw new Error("broken\\nin two lines")', /importing it failed: broken/],
    ["no JavaScript", "export default {", /importing it failed/],
    ["an import that is not there", 'import "./gone.mjs"', /importing it failed/]
  ]
  for (const [name, module, why] of refused) {
    it.effect(`refuses ${name} with one sentence`, () =>
      Effect.map(refusal({ "a.mjs": module }, "./a.mjs"), (text) => assert.match(text, why))
    )
  }

  it.effect("refuses a missing path, a path that is not a file, and a duplicate id", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* refusal({}, "./gone.mjs"), "it is not there.")
      assert.strictEqual(yield* refusal({}, "@someone/gone"), "it is not there.")
      assert.match(yield* refusal({ "a/b.txt": "" }, "./a"), /is not a file/)
      const two = { "a.mjs": source(), "b.mjs": source() }
      assert.match(yield* refusal(two, "./a.mjs", "./b.mjs"), /id custom:mine is taken/)
    })
  )
})

const Place = Schema.Literals(["file", "folder", "sibling", "inner", "link target"])
const Mode = Schema.Literals([0o600, 0o644, 0o666, 0o620, 0o602, 0o755, 0o777, 0o775, 0o757])

describe("distrust", () => {
  it.effect("reaches the packages that a package depends on, in any folder above it, and no others", () =>
    Effect.gen(function* () {
      const root = join(yield* temporaryFolder, "node_modules")
      const add = (name: string, manifest: object) => {
        write(join(root, name, "package.json"), JSON.stringify({ name, ...manifest }))
        write(join(root, name, "lib/index.js"), "")
      }
      add("@someone/adapter", { dependencies: { "@a/near": "1" }, peerDependencies: { broken: "1" } })
      add("@a/near", { optionalDependencies: { far: "1", gone: "1" } })
      add("far", { dependencies: { "@a/near": "1" } })
      add("other", {})
      add("broken", {})
      write(join(root, "broken/package.json"), "{")
      const reasonWith = (name: string) => {
        const path = join(root, name, "lib/index.js")
        chmodSync(path, 0o666)
        const folder = join(root, "@someone/adapter")
        const reason = distrustReason(join(folder, "lib/index.js"), folder)
        chmodSync(path, 0o644)
        return reason === undefined ? "trusted" : reason.includes(path)
      }
      assert.deepStrictEqual(["@someone/adapter", "@a/near", "far", "broken", "other"].map(reasonWith), [
        true,
        true,
        true,
        true,
        "trusted"
      ])
    })
  )

  it.effect.prop(
    "finds any place at which others can change the code",
    [Place, Mode],
    ([place, mode]) =>
      Effect.gen(function* () {
        const root = yield* temporaryFolder
        const inside = join(root, "package")
        write(join(inside, "index.mjs"), "")
        write(join(inside, "sibling.mjs"), "")
        write(join(inside, "deep/inner.mjs"), "")
        symlinkSync(join(inside, "index.mjs"), join(root, "linked.mjs"))
        const paths = {
          file: join(inside, "index.mjs"),
          folder: inside,
          sibling: join(inside, "sibling.mjs"),
          inner: join(inside, "deep/inner.mjs"),
          "link target": join(inside, "index.mjs")
        }
        const isFolder = place === "folder"
        // A folder that its owner cannot enter holds nothing to be read.
        chmodSync(paths[place], isFolder ? mode | 0o700 : mode)
        const entry = place === "link target" ? join(root, "linked.mjs") : paths.file
        const reason = distrustReason(entry, place === "inner" ? inside : undefined)
        if ((mode & 0o022) === 0) assert.isUndefined(reason)
        else assert.include(reason, `other users can write ${paths[place]}`)
      }),
    tries(30)
  )
})
