/** The Edge as a part of another program: its errors, several Edges in one process, and what it leaves when its scope closes. */
import { endHolder, survivors } from "@corral/testing/edge/Survivors"
import { within } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope, Stream } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { EdgeApprovalPolicy } from "../src/approval/EdgeApprovalPolicy.ts"
import { EdgeConfig, makeEdgeConfig } from "../src/config/EdgeConfig.ts"
import { edgeLayer } from "../src/Edge.ts"
import { EdgeServer } from "../src/http/Server.ts"
import { EdgeEventLog } from "../src/log/EdgeEventLog.ts"
import { runLines } from "../src/log/EdgeLogSource.ts"
import { EventSink, type SinkBatch } from "../src/log/EventSink.ts"
import { RunSupervisor } from "../src/run/RunSupervisor.ts"
import { makeWorkspaceList, WorkspaceSource } from "../src/workspace/WorkspaceSource.ts"
import { inMemory, linesOf, startEdge, startRun } from "./Embedded.ts"
import { temporaryFolder } from "./Folder.ts"

const typesIn = (lines: ReadonlyArray<string>) =>
  lines.map((line) => (JSON.parse(line) as { readonly type: string }).type)

/** A configuration whose only workspace is the home's folder. */
const newConfig = Effect.map(temporaryFolder, (folder) =>
  makeEdgeConfig({ home: join(folder, "home"), workspaces: [{ id: "here", path: folder }] })
)

/** Runs a program to its own end. */
const exited = async (program: string, folder: string) => {
  const child = spawn(process.execPath, [program, folder])
  let [stdout, stderr] = ["", ""]
  child.stdout.on("data", (chunk) => (stdout += String(chunk)))
  child.stderr.on("data", (chunk) => (stderr += String(chunk)))
  try {
    const [status] = (await within(once(child, "close"), 25_000, "the end of the program")) as [number | null]
    return { status, stdout, stderr }
  } finally {
    child.kill("SIGKILL")
  }
}

const serve = (config: EdgeConfig) =>
  Effect.map(
    Layer.build(Layer.fresh(edgeLayer).pipe(Layer.provide([Layer.succeed(EdgeConfig, config), inMemory]))),
    (services) => Context.get(services, EdgeServer)
  )

describe("Edge", () => {
  it.live.each([
    ["home", { home: "home" }, "an absolute path"],
    ["host", { host: "0.0.0.0" }, "a loopback address (127.0.0.1, ::1, localhost)"],
    ["port", { port: 65_536 }, "a port from 0 to 65535"],
    [
      "workspaces",
      { workspaces: [{ id: "here", path: "here" }] },
      "ids and absolute paths, with different ids"
    ],
    [
      "workspaces",
      {
        workspaces: [
          { id: "a", path: "/a" },
          { id: "a", path: "/b" }
        ]
      },
      "ids and absolute paths, with different ids"
    ],
    [
      "allowedEnv",
      { allowedEnv: ["LD_PRELOAD"] },
      "names of variables, none of them Corral's own or the loader's"
    ],
    [
      "hubAddresses",
      { hubAddresses: ["http://hub.example"] },
      "addresses of a Hub such as https://corral.example"
    ],
    [
      "runHosts",
      { runHosts: ["https://example.com"] },
      "hosts such as registry.npmjs.org or 127.0.0.1:11434"
    ],
    [
      "proxyKeys",
      { proxyKeys: [{ adapter: "pi" }, { adapter: "pi" }] },
      "different adapters, with addresses of http or https"
    ],
    ["maxRuns", { maxRuns: 0 }, "a whole number from 1"]
  ] as const)("refuses an invalid %s before it touches the home", ([field, wrong, expected]) =>
    Effect.gen(function* () {
      const config = yield* newConfig
      const failure = yield* Effect.flip(startEdge({ ...config, ...wrong }))
      assert.deepInclude(failure, {
        _tag: "EdgeConfigInvalid",
        message: `EdgeConfig.${field} is not usable: expected ${expected}.`
      })
      assert.isFalse(existsSync(config.home))
    })
  )

  it.live("fails with a tagged error when the home is in use, also with the store in memory", () =>
    Effect.gen(function* () {
      const config = yield* newConfig
      yield* startEdge(config)
      const caught = yield* Effect.catchTag(startEdge(config), "HomeInUse", ({ message }) =>
        Effect.succeed(message)
      )
      assert.strictEqual(caught, `${config.home} is in use by another Edge. Stop it, or choose another home.`)
    })
  )

  it.live("fails with a tagged error when the port is taken, and releases the home", () =>
    Effect.gen(function* () {
      const other = createServer().listen(0, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
      yield* Effect.promise(() => once(other, "listening"))
      const { port } = other.address() as AddressInfo
      const config = yield* newConfig
      const failure = yield* Effect.flip(Effect.scoped(serve({ ...config, port })))
      assert.strictEqual(failure._tag, "ListenFailed")
      assert.strictEqual(
        failure.message,
        `http://127.0.0.1:${port} is in use by another program. Stop it, or choose another port.`
      )
      yield* serve(config)
    })
  )

  it.live("fails with a tagged error when others can read the token", () =>
    Effect.gen(function* () {
      const config = yield* newConfig
      writeFileSync(join(config.home, "..", "token"), "x".repeat(64), { mode: 0o644 })
      const failure = yield* Effect.flip(serve({ ...config, tokenFile: join(config.home, "..", "token") }))
      assert.strictEqual(failure._tag, "TokenFileUnsafe")
    })
  )

  it.live("runs twice in one process, with separate homes and stores", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* newConfig, yield* newConfig]
      const onDisk = yield* startEdge(first, Layer.empty)
      const other = yield* startEdge(second)
      const [runA, runB] = yield* Effect.all([startRun(onDisk, "/say A"), startRun(other, "/say B")])
      const [linesA, linesB] = yield* Effect.all([linesOf(onDisk, runA), linesOf(other, runB)])
      for (const lines of [linesA, linesB]) assert.strictEqual(typesIn(lines).at(-1), "run.completed")
      assert.include(linesA.join(), '"A"')
      assert.include(linesB.join(), '"B"')
      assert.strictEqual(Context.get(onDisk, RunSupervisor).list({ limit: 10 }).length, 1)
      assert.strictEqual(Context.get(other, RunSupervisor).list({ limit: 10 }).length, 1)
      assert.isTrue(existsSync(join(first.home, "edge.db")))
      assert.isFalse(existsSync(join(second.home, "edge.db")), "the store in memory writes no file")
    })
  )

  it.live("serves two Edges in one process, each with its own token and address", () =>
    Effect.gen(function* () {
      const configs = [yield* newConfig, yield* newConfig]
      const servers = yield* Effect.forEach(configs, serve)
      const statusOf = (server: { readonly url: string }, config: EdgeConfig) =>
        Effect.promise(async () => {
          const authorization = `Bearer ${readFileSync(config.tokenFile, "utf8").trim()}`
          return (await fetch(`${server.url}/v1/runs`, { headers: { authorization } })).status
        })
      const statuses = yield* Effect.forEach(servers, (server) =>
        Effect.forEach(configs, (config) => statusOf(server, config))
      )
      assert.deepStrictEqual(statuses, [
        [200, 401],
        [401, 200]
      ])
    })
  )

  it.live("ends its runs when its scope closes, and leaves no process and no lock", () =>
    Effect.gen(function* () {
      const config = yield* newConfig
      const scope = yield* Scope.make()
      const services = yield* Scope.provide(startEdge(config, Layer.empty), scope)
      const run = yield* startRun(services, "/shell echo $$ > pid; exec sleep 600", { mode: "ask" })
      const log = Context.get(services, EdgeEventLog)
      yield* runLines(log, run.id, 0).pipe(
        Stream.takeUntil((lines) => typesIn(lines).includes("run.approval.requested")),
        Stream.runDrain
      )
      const left = () => survivors(undefined, new Set([run.id]))
      assert.isNotEmpty(left())
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(left(), [])
      const again = yield* startEdge(config, Layer.empty)
      assert.strictEqual(typesIn(yield* linesOf(again, run)).at(-1), "run.cancelled")
    })
  )

  it.live("counts a run as one that outlives it until its last event", () =>
    Effect.gen(function* () {
      const config = { ...(yield* newConfig), orphanMs: 60_000 }
      yield* Effect.addFinalizer(() => Effect.sync(() => endHolder(config.home, "SIGKILL")))
      const services = yield* startEdge(config)
      const { lastingRuns } = Context.get(services, RunSupervisor)
      const run = yield* startRun(services, "/say Hello")
      assert.strictEqual(lastingRuns(), 1)
      yield* linesOf(services, run)
      assert.strictEqual(lastingRuns(), 0)
    })
  )

  it.live("sends every event of its runs to the sink, up to the ends that a closing scope causes", () =>
    Effect.gen(function* () {
      const received: Array<SinkBatch> = []
      const receive = (batch: SinkBatch) => Effect.sync(() => void received.push(batch))
      const config = yield* newConfig
      const scope = yield* Scope.make()
      const services = yield* Scope.provide(
        startEdge(config, Layer.merge(inMemory, Layer.succeed(EventSink, { receive }))),
        scope
      )
      const done = yield* startRun(services, "/say Hello")
      const lines = yield* linesOf(services, done)
      const cancelled = yield* startRun(services, "/hang")
      yield* Scope.close(scope, Exit.void)
      const linesBy = (id: string) =>
        received.filter(({ runId }) => runId === id).flatMap((batch) => batch.lines)
      assert.deepStrictEqual(linesBy(done.id), lines)
      assert.strictEqual(typesIn(linesBy(cancelled.id)).at(-1), "run.cancelled")
    })
  )

  it.live("decides with the policy of its program, and offers the workspaces that its program adds", () =>
    Effect.gen(function* () {
      const config = { ...(yield* newConfig), workspaces: [] }
      const workspaces = makeWorkspaceList()
      const policy: EdgeApprovalPolicy = ({ request }) =>
        request.action === "shell" ? "allow" : { deny: "no" }
      const services = yield* startEdge(
        config,
        Layer.mergeAll(
          inMemory,
          Layer.succeed(WorkspaceSource, workspaces),
          Layer.succeed(EdgeApprovalPolicy, policy)
        )
      )
      const refused = yield* Effect.flip(startRun(services, "/say Hello"))
      assert.strictEqual(refused.code, "workspace_outside_allowlist")
      yield* workspaces.add({ id: "here", path: join(config.home, "..") })
      const lines = yield* linesOf(
        services,
        yield* startRun(services, "/shell echo hello\n/write a.txt text")
      )
      const decisions = lines
        .map((line) => JSON.parse(line) as { type: string; payload: Record<string, unknown> })
        .filter(({ type }) => type === "run.approval.resolved")
        .map(({ payload }) => [payload["decision"], payload["by"]])
      assert.deepStrictEqual(decisions, [
        ["allow", "policy:program"],
        ["deny", "policy:program"]
      ])
    })
  )

  it.live("leaves nothing open that keeps its program alive", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const program = join(import.meta.dirname, "EmbedOnce.ts")
      const { status, stderr, stdout } = yield* Effect.promise(() => exited(program, folder))
      assert.strictEqual(status, 0, stderr)
      const last = stdout.trimEnd().split("\n").at(-1) ?? ""
      assert.deepStrictEqual(JSON.parse(last), { status: 200, last: "run.completed" })
    })
  )
})
