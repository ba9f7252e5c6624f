/**
 * A third-party adapter, from `npm create` in an empty folder to a run of a stock Edge, with npm and a registry on loopback; and agents by
 * configuration alone.
 */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import { execFile, execFileSync, spawnSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type LoopbackRegistry, startLoopbackRegistry } from "./LoopbackRegistry.ts"
import { root } from "./Modules.ts"
import { packTemplate } from "./pack.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-adapter-")))
const [tarballs, empty, home] = ["tarballs", "empty", "home"].map((name) => join(folder, name)) as [
  string,
  string,
  string
]
const generated = join(empty, "my-agent")
let registry: LoopbackRegistry

interface LibraryManifest {
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Libraries with all that they depend on. The compiler is that of the repository: its packages have one per platform. */
const librariesOf = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found = new Set<string>()
  const waiting = [...names]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    found.add(name)
    const manifest: LibraryManifest = JSON.parse(
      readFileSync(join(root, "node_modules", name, "package.json"), "utf8")
    )
    waiting.push(...Object.keys(manifest.dependencies ?? {}))
  }
  return [...found].map((name) => join(root, "node_modules", name))
}

interface Ended {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** Not synchronous: the registry serves npm from this thread. */
const npm = (cwd: string, ...args: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve) => {
    const env = {
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: folder,
      npm_config_registry: registry.url,
      npm_config_cache: join(folder, "npm"),
      npm_config_userconfig: join(folder, "npmrc")
    }
    execFile("npm", ["--no-audit", "--no-fund", ...args], { cwd, env }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : Number(error.code ?? 1), stdout, stderr })
    )
  })

const succeed = ({ status, stderr, stdout }: Ended): string => {
  assert.strictEqual(status, 0, `${stdout}\n${stderr}`)
  return stdout
}

const corral = (...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [join(root, "dist/corral/index.js"), ...args], {
    cwd: empty,
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, CORRAL_HOME: home }
  })

beforeAll(async () => {
  for (const each of [empty, home]) mkdirSync(each, { mode: 0o700 })
  cpSync(join(inject("packages").folder, "tarballs"), tarballs, { recursive: true })
  packTemplate(tarballs)
  const libraries = librariesOf(["effect", "eventsource-parser", "fast-check", "@types/node", "@types/ws"])
  execFileSync("npm", ["pack", "--silent", "--ignore-scripts", ...libraries], { cwd: tarballs })
  registry = await startLoopbackRegistry(tarballs)
}, 240_000)
afterAll(async () => {
  await registry.close()
  rmSync(folder, { recursive: true, force: true })
})

describe("an adapter of someone else", { timeout: 240_000 }, () => {
  it("starts from the template, passes its tests, and compiles", async () => {
    succeed(await npm(empty, "create", "--yes", "corral-adapter", "my-agent"))
    // The compiler of the repository.
    const manifest = join(generated, "package.json")
    writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/,\s*"typescript": "[^"]*"/, ""))
    succeed(await npm(generated, "install"))
    assert.include(succeed(await npm(generated, "test")), "fail 0")
    const compiler = join(root, "node_modules/typescript/bin/tsc")
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", "."], {
      cwd: generated,
      encoding: "utf8"
    })
    assert.strictEqual(stdout, "")
  })

  it("is refused a folder that is not empty, and a name that is none", async () => {
    assert.include((await npm(empty, "create", "--yes", "corral-adapter", "my-agent")).stderr, "is not empty")
    assert.include(
      (await npm(empty, "create", "--yes", "corral-adapter", "../up")).stderr,
      "Usage: npm create"
    )
  })

  it("is checked and added by its name, and finishes a run of a stock Edge", async () => {
    succeed(await npm(generated, "pack", "--ignore-scripts"))
    succeed(
      await npm(home, "install", "--ignore-scripts", "--prefix", home, join(generated, "my-agent-0.1.0.tgz"))
    )
    const checked = corral("adapters", "check", "my-agent")
    assert.strictEqual(checked.stdout, "✓ custom:my-agent: no findings with 2 recordings\n", checked.stderr)
    assert.strictEqual(corral("adapters", "add", "my-agent").status, 0)
    const config = join(home, "edge.config.json")
    assert.deepStrictEqual(JSON.parse(readFileSync(config, "utf8")), { adapters: ["my-agent"] })
    const listed = corral("adapters", "list", "--json").stdout
    assert.include(
      listed,
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
      ["specification-version", "specificationVersion: 1", "specificationVersion: 2 as 1"]
    ] as const
    for (const [rule, right, wrong] of faults) {
      assert.include(source, right)
      writeFileSync(file, source.replace(right, wrong))
      const { status, stdout } = await npm(generated, "test")
      assert.notStrictEqual(status, 0, rule)
      assert.match(stdout, new RegExp(rule))
    }
    writeFileSync(file, source)
  })
})

describe("agents by configuration", { timeout: 120_000 }, () => {
  it("runs an agent of the Agent Client Protocol and a mapped program", async () => {
    const agent = join(folder, "agent.mjs")
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
    const printed = join(folder, "printed.jsonl")
    writeFileSync(printed, '{"kind":"message","text":"By map."}\n{"kind":"end"}\n')
    const config = join(folder, "edge.config.json")
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
