/**
 * A third-party adapter, from `npm create` in an empty folder to a run of a stock Edge, with npm and a registry on loopback; and agents by
 * configuration alone.
 */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import type { RunningProgram } from "@corral/testing/process/RunningProgram"
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { InstalledManifest } from "./installed.ts"
import { librariesOf, packLibraries } from "./LibraryTarballs.ts"
import { root } from "./Modules.ts"
import { openNpmEnvironment, type NpmEnvironment } from "./NpmEnvironment.ts"

let user: NpmEnvironment
let generated: string

/** What a package of the template installs, without the compiler: that has a package per platform, and is the repository's. */
const templateNeeds = (): ReadonlyArray<string> => {
  const file = join(root, "packages/create-corral-adapter/template/manifest.json")
  const { devDependencies = {} }: Pick<InstalledManifest, "devDependencies"> = JSON.parse(
    readFileSync(file, "utf8")
  )
  return Object.keys(devDependencies).filter((name) => name !== "typescript")
}

/** Lines of stdout. */
const succeed = async (program: RunningProgram["done"]): Promise<string> => {
  const { exit, out, stderr } = await program
  assert.strictEqual(exit, 0, `${out.join("\n")}\n${stderr}`)
  return out.join("\n")
}

const corral = (...args: ReadonlyArray<string>) =>
  user.start(process.execPath, [join(root, "dist/corral/index.js"), ...args]).done

beforeAll(async () => {
  const { folder, manifests } = inject("packages")
  user = await openNpmEnvironment((tarballs) => {
    cpSync(join(folder, "tarballs"), tarballs, { recursive: true })
    cpSync(join(folder, "template"), tarballs, { recursive: true })
    packLibraries(librariesOf(templateNeeds(), manifests), tarballs)
  })
  generated = join(user.empty, "my-agent")
  mkdirSync(user.home, { mode: 0o700 })
})
afterAll(() => user.close())

describe("an adapter of someone else", () => {
  it("starts from the template, passes its tests, and compiles", async () => {
    await succeed(user.npm(user.empty, "create", "--yes", "corral-adapter", "my-agent"))
    // The compiler of the repository.
    const manifest = join(generated, "package.json")
    writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/,\s*"typescript": "[^"]*"/, ""))
    await succeed(user.npm(generated, "install"))
    assert.include(await succeed(user.npm(generated, "test")), "fail 0")
    const compiler = join(root, "node_modules/typescript/bin/tsc")
    const { out } = await user.start(process.execPath, [compiler, "-p", "."], { cwd: generated }).done
    assert.deepStrictEqual(out, [])
  })

  it("is refused a folder that is not empty, a file, and a name that is none", async () => {
    writeFileSync(join(user.empty, "taken"), "")
    const create = (name: string) => user.npm(user.empty, "create", "--yes", "corral-adapter", name)
    for (const name of ["my-agent", "taken"])
      assert.match((await create(name)).stderr, /^\S+ is not empty\. Choose another name, or remove it\.$/m)
    assert.include((await create("../up")).stderr, "Usage: npm create")
  })

  it("is checked and added by its name, and finishes a run of a stock Edge", async () => {
    const { home } = user
    const tarball = join(generated, "my-agent-0.1.0.tgz")
    await succeed(user.npm(generated, "pack", "--ignore-scripts"))
    await succeed(user.npm(home, "install", "--ignore-scripts", "--prefix", home, tarball))
    const checked = await succeed(corral("adapters", "check", "my-agent"))
    assert.strictEqual(checked, "✓ custom:my-agent: no findings with 4 recordings")
    await succeed(corral("adapters", "add", "my-agent"))
    const config = join(home, "edge.config.json")
    assert.deepStrictEqual(JSON.parse(readFileSync(config, "utf8")), { adapters: ["my-agent"] })
    assert.include(
      await succeed(corral("adapters", "list", "--json")),
      `{"id":"custom:my-agent","label":"my-agent","source":"custom","installed":true,"version":"1.0.0"`
    )

    const edge = new EdgeProcess({ env: { CORRAL_EDGE_CONFIG_FILE: config } })
    try {
      await edge.start()
      const run = await edge.client.create("Hello", "ask", { agentId: "custom:my-agent" })
      const log = await edge.client.log(run.id)
      assert.deepInclude(log.at(-1)?.payload, { text: "Nothing to write." })
    } finally {
      await edge.remove()
    }
  })

  it("is found broken by the kit, each fault by its rule", async () => {
    const file = join(generated, "src/index.ts")
    const source = readFileSync(file, "utf8")
    const faults = [
      ["answer-once", "this.#collector.takeAnswer(key) ?", "key !== undefined ?"],
      [
        "changed-output|lost-output|calls",
        'collector.closeCall({ callId: wrote, status: "completed" })',
        "collector.isOver"
      ],
      ["outcome-missing", "this.#collector.concludeAtExit(label, end)", "void end"],
      ["changed-output", "if (says !== undefined) {", "if (says !== undefined && this.#messages > 9) {"],
      [
        "unanswered",
        "(response.answers[QUESTION] ?? null) : null",
        '(response.answers[QUESTION] ?? null) : "Short"'
      ],
      ["answer-sent", "if (!this.#collector.takeResponse(key)) return undefined", ""],
      ["lost-output|work", 'return collector.endWork(ends, "completed", true)', "return"],
      ["specification-version", "specificationVersion: 2", "specificationVersion: 3 as 2"]
    ] as const
    for (const [rule, right, wrong] of faults) {
      assert.include(source, right)
      writeFileSync(file, source.replace(right, wrong))
      const { exit, out } = await user.npm(generated, "test")
      assert.notStrictEqual(exit, 0, rule)
      assert.match(out.join("\n"), new RegExp(rule))
    }
    writeFileSync(file, source)
  })
})

describe("the steps of the guides, with a registry that has no package of Corral", () => {
  let stranger: NpmEnvironment
  beforeAll(async () => {
    const { manifests } = inject("packages")
    stranger = await openNpmEnvironment((tarballs) =>
      packLibraries(librariesOf(templateNeeds(), manifests), tarballs)
    )
    mkdirSync(stranger.home, { mode: 0o700 })
    mkdirSync(join(stranger.folder, "bin"))
    // The compiler is a package per platform, and the repository's.
    const programs = { corral: "dist/corral/index.js", tsc: "node_modules/typescript/bin/tsc" }
    for (const [name, file] of Object.entries(programs)) {
      const command = `#!/bin/sh\nexec '${process.execPath}' '${join(root, file)}' "$@"\n`
      writeFileSync(join(stranger.folder, "bin", name), command, { mode: 0o755 })
    }
    // `npm run pack` puts the template beside the packages.
    cpSync(join(inject("packages").folder, "tarballs"), join(stranger.folder, "packed"), {
      recursive: true
    })
    cpSync(join(inject("packages").folder, "template"), join(stranger.folder, "packed/template"), {
      recursive: true
    })
  })
  afterAll(() => stranger.close())

  /** Commands of a document, in the folders of this test. Those that need a checkout or an Edge are left out. */
  const commandsOf = (text: string): ReadonlyArray<string> =>
    [...text.matchAll(/^```console\n([^]*?)^```$/gm)]
      .flatMap(([, block = ""]) => block.trim().split("\n"))
      .filter((line) => !/^(npm run pack|corral run|corral raw|CORRAL_EDGE_RAW_OUTPUT=keep) /.test(line))
      .map((line) =>
        line
          .replaceAll("/tmp/corral-packages", join(stranger.folder, "packed"))
          .replaceAll("/tmp/create", join(stranger.folder, "create"))
          .replaceAll("~/.corral", stranger.home)
      )

  const follow = (commands: ReadonlyArray<string>, cwd: string) =>
    stranger.start("bash", ["-ec", commands.join("\n")], {
      cwd,
      env: { PATH: `${join(stranger.folder, "bin")}:${stranger.env["PATH"]}` }
    }).done

  const withoutCompiler = `node -e '
    const { readFileSync, writeFileSync } = require("node:fs")
    const manifest = JSON.parse(readFileSync("package.json", "utf8"))
    delete manifest.devDependencies.typescript
    writeFileSync("package.json", JSON.stringify(manifest))'`

  it("lead from an empty folder to an added adapter", async () => {
    const commands = commandsOf(readFileSync(join(root, "docs/write-an-adapter.md"), "utf8"))
    assert.includeMembers(
      [...commands],
      ["cd my-agent", "npm run expected", "npm pack", "corral adapters add my-agent"]
    )
    const steps = commands.flatMap((line) => (line === "cd my-agent" ? [line, withoutCompiler] : [line]))
    const output = await succeed(follow(steps, stranger.empty))
    assert.include(output, "✓ custom:my-agent: no findings with 4 recordings")
  })

  it("of the template's README lead there, too", async () => {
    const create = join(stranger.folder, "create/node_modules/.bin/create-corral-adapter")
    await succeed(follow([`${create} @me/other-agent`], stranger.empty))
    const place = join(stranger.empty, "other-agent")
    const commands = commandsOf(readFileSync(join(place, "README.md"), "utf8"))
    await succeed(follow([withoutCompiler, ...commands], place))
    const config = JSON.parse(readFileSync(join(stranger.home, "edge.config.json"), "utf8"))
    assert.deepStrictEqual(config, { adapters: ["my-agent", "@me/other-agent"] })
  })
})

describe("agents by configuration", () => {
  it("runs an agent of the Agent Client Protocol and a mapped program", async () => {
    const agent = join(user.folder, "agent.mjs")
    writeFileSync(
      agent,
      `const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n")
      let rest = ""
      process.stdin.on("end", () => process.exit(0)).on("data", (data) => {
        const lines = (rest + data).split("\\n")
        rest = lines.pop()
        for (const { id, method } of lines.map((line) => JSON.parse(line))) {
          if (method === "initialize") say({ id, result: { protocolVersion: 1 } })
          else if (method === "session/new") say({ id, result: { sessionId: "s" } })
          else if (method === "session/prompt") {
            const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "By protocol." } }
            say({ method: "session/update", params: { sessionId: "s", update } })
            say({ id, result: { stopReason: "end_turn" } })
          } else say({ id, error: { code: -32601, message: "not served" } })
        }
      })`
    )
    const printed = join(user.folder, "printed.jsonl")
    writeFileSync(printed, '{"kind":"message","text":"By map."}\n{"kind":"end"}\n')
    const config = join(user.folder, "edge.config.json")
    const map = { type: "kind", message: { when: ["message"], text: "text" }, completed: { when: ["end"] } }
    const command = ["sh", "-c", `cat > /dev/null; cat ${printed}`]
    const runners = [{ id: "mapped", label: "Mapped", runtime: "json-lines", command, stdin: "prompt", map }]
    const acp = { name: "echo", command: process.execPath, args: [agent], asks: true }
    writeFileSync(config, JSON.stringify({ acp, runners }))
    chmodSync(config, 0o600)
    const edge = new EdgeProcess({ grants: ["full_access"], env: { CORRAL_EDGE_CONFIG_FILE: config } })
    try {
      await edge.start()
      for (const [agentId, text] of [
        ["acp:echo", "By protocol."],
        ["mapped", "By map."]
      ]) {
        const run = await edge.client.create("Hi", "full_access", { agentId })
        assert.deepInclude((await edge.client.log(run.id)).at(-1)?.payload, { text })
      }
    } finally {
      await edge.remove()
    }
  })
})
