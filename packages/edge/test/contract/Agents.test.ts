/** Profiles, runners and readiness over real HTTP; the client judges each answer by the published contract. */
import type { ConfigReadiness, EdgeReadiness, GitFound, RuntimeReadiness } from "@corral/domain/http/Health"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { writeProgram } from "../Folder.ts"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"

const folderOf = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "corral-agents-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** An Edge whose configuration file says that. */
const openConfigured = async (config: object, env: Readonly<Record<string, string>> = {}) => {
  const folder = folderOf()
  const file = join(folder, "agents.json")
  const write = (content: object | string) =>
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  write(config)
  const edge = await openEdgeInProcess({
    grants: ["full_access"],
    env: { CORRAL_EDGE_CONFIG_FILE: file, ...env }
  })
  return { edge, client: edge.client, file, write }
}

/** An Edge for the tests that need none of their own: it reads its configuration file again when that changes. */
const shared = (() => {
  const programs = mkdtempSync(join(tmpdir(), "corral-agents-"))
  const file = join(programs, "agents.json")
  const edge = new EdgeInProcess({
    grants: ["full_access"],
    env: {
      CORRAL_EDGE_CONFIG_FILE: file,
      PATH: `${programs}:/usr/local/bin:/usr/bin:/bin`,
      NAMED_KEY: "value-1",
      OTHER_KEY: "value-2",
      TEAM_NAME: "blue"
    }
  })
  return { edge, file, programs }
})()
beforeAll(async () => {
  writeFileSync(shared.file, "{}")
  await shared.edge.start()
})
afterAll(async () => {
  await shared.edge.remove()
  rmSync(shared.programs, { recursive: true, force: true })
})

/** The shared Edge, its configuration file saying that. */
const reconfigured = (config: object) => {
  const { edge, file } = shared
  const write = (content: object | string) =>
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  write(config)
  return { edge, client: edge.client, file, write }
}

interface OfferedAgent {
  readonly id: string
  readonly available: boolean
  readonly reason?: string
  readonly capabilities: object
}

describe("Profiles", () => {
  it("run as agents of their own, as widely and with as much as they say", async () => {
    const { client } = await openConfigured(
      {
        profiles: [
          {
            id: "careful",
            label: "Careful",
            adapter: "scripted",
            mode: "ask",
            model: "small-1",
            env: ["SEEN_BY_PROFILE"]
          },
          {
            id: "plain",
            label: "Plain",
            adapter: "scripted",
            grants: [{ action: "shell", command: ["echo"], prefix: true }]
          }
        ]
      },
      { SEEN_BY_PROFILE: "here it is" }
    )
    const run = await client.create("/shell echo [$SEEN_BY_PROFILE]", "ask", { agentId: "careful" })
    assert.deepStrictEqual([String(run.agentId), run.model], ["careful", "small-1"])
    const reader = await client.follow({ runId: run.id })
    const approvalId = String((await reader.event("run.approval.requested")).payload["approvalId"])
    await client.decide(run.id, approvalId, "allow")
    await reader.ended
    assert.include(JSON.stringify(reader.events), "[here it is]")
    assert.strictEqual((await client.run(run.id)).state, "completed")

    const named = await client.create("/say x", "read_only", { agentId: "careful", model: "large-1" })
    assert.strictEqual(named.model, "large-1")

    const wider = await client.tryCreate("/say x", "auto_edit", { agentId: "careful" })
    assert.deepStrictEqual([wider.status, codeOf(wider)], [403, "permission_denied"])
    assert.deepInclude(wider.body as object, {
      message: "Careful runs only in read_only, plan, ask.",
      details: { mode: "auto_edit", modes: ["read_only", "plan", "ask"] }
    })
    const widest = await client.tryCreate("/say x", "full_access", { agentId: "plain" })
    assert.strictEqual(codeOf(widest), "permission_denied")

    const granted = await client.create("/shell echo by itself", "ask", { agentId: "plain" })
    const received = await client.log(granted.id)
    assert.deepStrictEqual(
      received.filter(({ type }) => type === "run.approval.resolved").map(({ payload }) => payload["by"]),
      ["policy:workspace"]
    )
    assert.strictEqual(received.at(-1)?.type, "run.completed")

    const other = await client.tryCreate("/say x", "ask", { agentId: "scripted", resume: run.id })
    assert.strictEqual(other.status, 422)
    const again = await client.create("/say again", "ask", { agentId: "careful", resume: run.id })
    assert.strictEqual((await client.result(again.id, 60_000)).status, 200)
  })

  it("come and go with the file, and a spoilt one is said and changes nothing", async () => {
    const { client, write, file } = reconfigured({})
    const agents = async () =>
      ((await client.ask("GET", "/v1/agents")).body as { items: ReadonlyArray<{ id: string }> }).items.map(
        ({ id }) => id
      )
    const health = async () =>
      (await client.ask("GET", "/v1/health")).body as {
        readonly status: string
        readonly config: ConfigReadiness
      }
    assert.deepInclude(await health(), { status: "ok", config: { status: "ok", path: file } })
    assert.strictEqual(codeOf(await client.tryCreate("x", "ask", { agentId: "mine" })), "invalid_agent_id")

    write({ profiles: [{ id: "mine", label: "Mine", adapter: "scripted" }] })
    assert.include(await agents(), "mine")
    write({ profiles: [{ id: "mine", label: "Mine", adapter: "scripted", mod: "ask" }] })
    const { status, config } = await health()
    assert.deepStrictEqual([status, config.status], ["degraded", "degraded"])
    assert.strictEqual(config.problem, `${file} is not usable: profiles.0.mod: Not a field of this object.`)
    const others = (await client.ask("GET", "/health", { token: null })).body as { readonly status: string }
    assert.strictEqual(others.status, "degraded")
    assert.include(await agents(), "mine")
    write({})
    assert.notInclude(await agents(), "mine")
    assert.strictEqual((await health()).status, "ok")
  })

  it("stop a start where the file is not usable, in one sentence", async () => {
    const edge = new EdgeProcess()
    onTestFinished(() => edge.remove())
    mkdirSync(edge.home, { mode: 0o700 })
    writeFileSync(join(edge.home, "edge.config.json"), '{"profiles": 1}')
    let failure = ""
    await edge.start().catch((error: Error) => (failure = error.message))
    assert.match(failure, /: \/\S+\/edge\.config\.json is not usable: profiles: Expected array[^\n]*\.\n$/)
    assert.deepStrictEqual(await edge.exit(), { code: 1, signal: null })
  })
})

describe("Runners", () => {
  it("are offered, and run as agents where everything is allowed", async () => {
    const { programs: folder } = shared
    writeProgram(join(folder, "onstdin"), "printf '\\033[1mGot\\033[0m: '; cat; echo; pwd > where")
    writeProgram(join(folder, "asargument"), 'echo "arg $1"; echo "no such model" >&2; exit 4')
    const runners = [
      { id: "stdin", label: "Stdin", runtime: "text", command: [join(folder, "onstdin")], stdin: "prompt" },
      { id: "argument", label: "Argument", runtime: "text", command: ["asargument", "<{prompt}>"] }
    ]
    const { client, edge } = reconfigured({ runners })
    const { items } = (await client.ask("GET", "/v1/runners")).body as {
      items: ReadonlyArray<{ readonly id: string; readonly available: boolean }>
    }
    const available = new Map(items.map(({ id, available }) => [id, available]))
    assert.deepStrictEqual([available.get("stdin"), available.get("argument")], [true, true])
    assert.isTrue(available.has("aider"))

    const run = await client.create("a prompt\nof two lines", "full_access", { agentId: "stdin" })
    const log = await client.log(run.id)
    assert.deepStrictEqual(
      log.map(({ type }) => type),
      [
        "run.created",
        "run.started",
        "run.message.delta",
        "run.message.delta",
        "run.message.completed",
        "run.diff.ready",
        "run.completed"
      ]
    )
    assert.strictEqual(log.at(-1)?.payload["text"], "Got: a prompt\nof two lines")
    assert.strictEqual(readFileSync(join(edge.workspace, "where"), "utf8"), `${edge.workspace}\n`)

    const failed = await client.create("-x $(id)", "full_access", { agentId: "argument" })
    await client.log(failed.id)
    const { error, state } = await client.run(failed.id)
    assert.deepStrictEqual([state, error?.code], ["failed", "runtime_unavailable"])
    assert.strictEqual(error?.message, "Argument ended with exit code 4: no such model")

    for (const mode of ["read_only", "plan", "ask", "auto_edit"] as const) {
      const refusal = await client.tryCreate("x", mode, { agentId: "stdin" })
      assert.strictEqual(codeOf(refusal), "permission_denied", mode)
      assert.include(
        refusal.text,
        "Stdin does not ask for approval before it acts, so it runs only in full_access."
      )
    }
    const missing = await client.tryCreate("x", "full_access", { agentId: "aider" })
    assert.strictEqual(codeOf(missing), "runtime_unavailable")
  })

  it("see of the Edge's environment what they name", async () => {
    writeProgram(join(shared.programs, "printer"), "env")
    const runner = { runtime: "text", command: ["printer"], stdin: "prompt" }
    const runners = [
      { ...runner, id: "some", label: "Some", env: ["NAMED_KEY"] },
      { ...runner, id: "none", label: "None" }
    ]
    const { client } = reconfigured({ runners })
    const printed = async (agentId: string) =>
      JSON.stringify(await client.log((await client.create("x", "full_access", { agentId })).id))
    const some = await printed("some")
    assert.include(some, "NAMED_KEY=value-1")
    assert.notInclude(some, "value-2")
    assert.notInclude(await printed("none"), "value-")
  })

  it("say nothing of secrets: those of their environment, and keys that are known by their form", async () => {
    const folder = folderOf()
    const key = "sk-proj-A1b2C3d4E5f6G7h8"
    const script = `echo "I have $SERVICE_KEY"; echo "and ${key}"; echo "it said $SERVICE_KEY" >&2; exit 3`
    writeProgram(join(folder, "teller"), script)
    const runner = { runtime: "text", command: ["teller"], stdin: "prompt", env: ["SERVICE_KEY"] }
    const env = { PATH: `${folder}:/usr/bin:/bin`, SERVICE_KEY: "correct-horse-battery" }
    const { client, edge } = await openConfigured(
      { runners: [{ ...runner, id: "teller", label: "Teller" }] },
      env
    )
    const run = await client.create("tell", "full_access", { agentId: "teller" })
    const log = JSON.stringify(await client.log(run.id))
    const ended = await client.run(run.id)
    assert.strictEqual(ended.error?.message, "Teller ended with exit code 3: it said [redacted]")
    assert.include(log, "I have [redacted]")
    assert.include(log, "and [redacted]")
    const health = (await client.ask("GET", "/v1/health")).text
    await edge.stop()
    const disk = readdirSync(edge.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    for (const text of [log, JSON.stringify(ended), health, ...disk, edge.stderr]) {
      assert.notInclude(text, "correct-horse-battery")
      assert.notInclude(text, key)
    }
  })
})

describe("The example of docs/agents.md", () => {
  it("works as it stands", async () => {
    const page = readFileSync(new URL("../../../../docs/agents.md", import.meta.url), "utf8")
    const [, text = ""] = /```json\n([^]*?)```/.exec(page) ?? []
    const { client } = reconfigured(JSON.parse(text))
    const { items } = (await client.ask("GET", "/v1/agents")).body as {
      items: ReadonlyArray<{ readonly id: string; readonly available: boolean; readonly hint?: string }>
    }
    assert.deepInclude(
      items.find(({ id }) => id === "claude-nightly"),
      { available: false, hint: "The program that its profile names is not on this machine." }
    )
    const careful = await client.create("/say Hello", "ask", { agentId: "careful" })
    assert.strictEqual((await client.result(careful.id, 60_000)).status, 200)
    const parrot = await client.create("Polly", "full_access", { agentId: "parrot" })
    const response = await client.result(parrot.id, 60_000)
    assert.deepStrictEqual(
      [response.status, (response.body as { readonly text?: string }).text],
      [200, "Polly"]
    )
    // The table of built-in runners is what is offered.
    const runners = (await client.ask("GET", "/v1/runners")).body as {
      items: ReadonlyArray<{ readonly id: string; readonly command: ReadonlyArray<string> }>
    }
    for (const { id, command } of runners.items.filter(({ id }) => id !== "parrot")) {
      assert.include(page, `| \`${id}\` | \`${command.join(" ")}\` |`)
    }
  })

  it("reads JSON lines as its map says", async () => {
    const page = readFileSync(new URL("../../../../docs/agents.md", import.meta.url), "utf8")
    const [, config = ""] = /```json\n([^`]*"json-lines"[^`]*)```/.exec(page) ?? []
    const [, printed = ""] = /```jsonl\n([^`]*)```/.exec(page) ?? []
    const { programs: folder } = shared
    writeFileSync(join(folder, "printed"), printed)
    writeProgram(join(folder, "reporter"), `cat > asked; cat ${join(folder, "printed")}`)
    const { client, edge } = reconfigured(JSON.parse(config))
    const run = await client.create("write a note", "full_access", { agentId: "reporter" })
    const log = await client.log(run.id)
    assert.deepStrictEqual(
      log.map(({ type }) => type).filter((type) => type !== "run.diff.ready"),
      [
        "run.created",
        "run.started",
        "run.message.delta",
        "run.message.delta",
        "run.message.completed",
        "run.tool.call",
        "run.tool.result",
        "run.file.changed",
        "run.completed"
      ]
    )
    const last = log.at(-1)?.payload
    assert.deepStrictEqual(
      [last?.["text"], last?.["usage"]],
      ["It is written.", { inputTokens: 100, outputTokens: 42 }]
    )
    assert.strictEqual(readFileSync(join(edge.workspace, "asked"), "utf8"), "write a note")
    const { items } = (await client.ask("GET", "/v1/runners")).body as {
      items: ReadonlyArray<{ readonly id: string; readonly runtime: string }>
    }
    assert.strictEqual(items.find(({ id }) => id === "reporter")?.runtime, "json-lines")
    const refusal = await client.tryCreate("x", "ask", { agentId: "reporter" })
    assert.strictEqual(codeOf(refusal), "permission_denied")
  })
})

describe("What is offered", () => {
  it("is listed in full: agents with their capabilities, runners with their command", async () => {
    const { client } = reconfigured({})
    const itemsOf = async (target: string) =>
      ((await client.ask("GET", target)).body as { readonly items: ReadonlyArray<object> }).items
    const agents = await itemsOf("/v1/agents")
    for (const agent of agents) {
      assert.containsAllKeys(agent, ["id", "label", "runtime", "available", "modes", "capabilities"])
      const { available, capabilities, reason } = agent as OfferedAgent
      assert.containsAllKeys(capabilities, [
        "deltas",
        "approvals",
        "editInput",
        "resume",
        "readOnly",
        "cancel"
      ])
      assert.isTrue(available || reason !== undefined, "what is not available says why")
    }
    const scripted = agents.find((agent) => (agent as OfferedAgent).id === "scripted")
    assert.deepInclude(scripted, { runtime: "scripted", available: true, version: "1.0.0" })
    for (const runner of await itemsOf("/v1/runners"))
      assert.containsAllKeys(runner, ["id", "label", "runtime", "command", "available"])
    for (const workspace of await itemsOf("/v1/workspaces")) {
      assert.containsAllKeys(workspace, ["id", "name", "modes", "git", "available"])
      assert.notInclude(JSON.stringify(workspace), "/")
    }
  })

  it("is unavailable without a sign-in: the run reports runtime_unavailable", async () => {
    const folder = folderOf()
    const recording = new URL(
      "../../../adapters/test/fixtures/claude-code/auth-missing/stdout.jsonl",
      import.meta.url
    )
    const play = `read -r line; cat '${fileURLToPath(recording)}'; exit 1`
    writeProgram(
      join(folder, "claude"),
      `case "$1" in --version) echo 2.1.329;; auth) echo '{"loggedIn": false}'; exit 1;; *) ${play};; esac`
    )
    const { client } = await openConfigured({}, { PATH: `${folder}:/usr/bin:/bin` })
    const run = await client.create("hello", "ask", { agentId: "claude-code" })
    const result = await client.result(run.id, 60_000)
    assert.deepStrictEqual([result.status, codeOf(result)], [503, "runtime_unavailable"])
    assert.deepInclude((result.body as { readonly details: object }).details, { reason: "not_signed_in" })
  })
})

describe("Health", () => {
  it("is the same at both addresses, and counts workspaces, runs and runtimes", async () => {
    const { client, edge } = reconfigured({})
    for (const target of ["/health", "/v1/health"]) {
      const response = (await client.ask("GET", target)).body as EdgeReadiness
      assert.deepInclude(response, { status: "ok", workspaces: { count: 1 }, runs: { live: 0, queued: 0 } })
      assert.deepInclude(response.process, { pid: edge.pid, node: process.version })
      assert.deepInclude(response.store, { status: "ok", engine: "sqlite" })
      assert.includeMembers(response.runtimes?.map(({ id }) => id) ?? [], ["scripted", "claude-code"])
      const others = (await client.ask("GET", target, { token: null })).body
      assert.deepStrictEqual(others, { status: "ok", instanceId: response.instanceId })
    }
  })

  it("tells each runtime, git and the disk to the token's holder, and nothing of it to others", async () => {
    const folder = folderOf()
    writeProgram(
      join(folder, "claude"),
      'if [ "$1" = auth ]; then echo \'{"loggedIn": false}\'; exit 1; fi; echo 2.1.0'
    )
    writeProgram(join(folder, "git"), "echo git version 2.99.1")
    const { client } = await openConfigured({}, { PATH: `${folder}:/usr/bin:/bin` })
    interface Readiness {
      readonly status: string
      readonly runtimes: ReadonlyArray<RuntimeReadiness>
      readonly git: GitFound
      readonly disk: { readonly freeBytes: number }
    }
    await client.ask("GET", "/v1/agents")
    // It waits a second for git, and a busy machine may take longer.
    const received = await until(async () => {
      const { body } = await client.ask("GET", "/v1/health")
      return (body as Readiness).git.version === undefined ? undefined : (body as Readiness)
    }, "git's version")
    const claude = received.runtimes.find(({ id }) => id === "claude-code")
    assert.deepInclude(claude, {
      installed: true,
      path: join(folder, "claude"),
      version: "2.1.0",
      signedIn: false,
      reason: "not_signed_in"
    })
    assert.match(String(claude?.hint), /login/)
    assert.deepStrictEqual(received.git, { found: true, version: "2.99.1" })
    assert.isAbove(received.disk.freeBytes, 0)
    const run = await client.create("/garbage 50")
    await client.log(run.id)
    const after = (await client.ask("GET", "/v1/health")).body as Readiness
    const drift = after.runtimes.find(({ id }) => id === "scripted")?.drift
    assert.isAbove(drift?.unknown ?? 0, 0)
    assert.isNotEmpty(drift?.kinds)
    assert.match(String(drift?.versionsSeen[0]), /^\d/)
    const others = await client.ask("GET", "/v1/health", { token: null })
    assert.deepStrictEqual(Object.keys(others.body as object).sort(), ["instanceId", "status"])
  })
})
