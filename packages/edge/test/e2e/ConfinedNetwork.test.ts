/** Connections of confined runs that need a decision: an Edge in this process, whose outside is a server of the test. */
import type { Approval, DecisionScope } from "@corral/domain/approval/Approval"
import type { Run } from "@corral/domain/run/Run"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { pageOfApprovals } from "../../src/store/EdgeRequestRows.ts"
import { edgeDefaults, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { NetworkAccess } from "../../src/network/NetworkAccess.ts"
import { temporaryFolderOf } from "../../src/process/TemporaryFolder.ts"
import { RunSupervisor } from "../../src/run/RunSupervisor.ts"
import { Store } from "../../src/store/Store.ts"
import { canConfine } from "../confinement/CanConfine.ts"
import { inMemory, linesOf, startEdge, startRun } from "../Embedded.ts"
import { temporaryFolder } from "../Folder.ts"
import { Outside, PUBLIC } from "../network/Outside.ts"
import { openUpstream } from "../preview/Upstream.ts"

const PATH = "/usr/local/bin:/usr/bin:/bin"

const open = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const home = join(folder, "home")
  const { port } = yield* Effect.promise(() =>
    openUpstream((_, response) => void response.end("from outside"))
  )
  const outside = new Outside(port, { "asked.test": [PUBLIC], "other.test": [PUBLIC] })
  const config = makeEdgeConfig({
    home,
    confinement: "required",
    environment: { PATH, HOME: folder },
    workspaces: [{ id: "here", path: folder }],
    times: { ...edgeDefaults.times, cancel: 300 }
  })
  const parts = Layer.merge(inMemory, Layer.succeed(NetworkAccess, outside.access))
  const services = yield* startEdge(config, parts)
  const store = Context.get(services, Store)
  const supervisor = Context.get(services, RunSupervisor)

  const pending = ({ id }: Run, action: string): Effect.Effect<Approval> =>
    Effect.promise(() =>
      until(
        async () =>
          pageOfApprovals(store, { runId: id, state: "pending", limit: 10 }).find(
            ({ request }) => request.action === action
          ),
        `an approval of ${action}`
      )
    )
  const decide = ({ id, runId }: Approval, decision: "allow" | "deny", scope: DecisionScope = "once") =>
    supervisor.decide(runId, id, { decision, scope }, { by: "local" })
  /** A run with a program that fetches the addresses, one after the other, and prints what it gets. */
  const fetching = Effect.fnUntraced(function* (...urls: ReadonlyArray<string>) {
    return yield* running(
      `for (const url of ${JSON.stringify(urls)}) await fetch(url).then(async (a) => console.log(a.status, await a.text()), (e) => console.log("failed", e.message))`
    )
  })
  /** A run with a program. */
  const running = Effect.fnUntraced(function* (script: string) {
    const run = yield* startRun(
      services,
      `/shell "${process.execPath}" --input-type=module -e '${script}'\n/say done`
    )
    yield* decide(yield* pending(run, "shell"), "allow")
    return run
  })
  const networkApprovals = ({ id }: Run) =>
    pageOfApprovals(store, { runId: id, limit: 100 }).filter(({ request }) => request.action === "network")
  const textOf = (run: Run) => Effect.map(linesOf(services, run), (lines) => lines.join("\n"))
  return {
    decide,
    fetching,
    folder,
    home,
    networkApprovals,
    outside,
    pending,
    running,
    services,
    supervisor,
    textOf
  }
})

describe.skipIf(!canConfine)("connections of confined runs", () => {
  it.live("wait for one approval for each host and port, and continue", () =>
    Effect.gen(function* () {
      const { decide, fetching, home, networkApprovals, outside, pending, supervisor, textOf } = yield* open
      const run = yield* fetching("http://asked.test/", "http://asked.test/again")
      const approval = yield* pending(run, "network")
      assert.deepInclude(approval.request, { title: "Connect to asked.test:80", url: "http://asked.test/" })
      assert.strictEqual((yield* supervisor.get(run.id)).state, "waiting_approval")
      assert.deepStrictEqual(outside.resolved, [])
      const sockets = `${temporaryFolderOf(home, run.id)}.net`
      assert.deepStrictEqual(readdirSync(sockets), ["calls.bpf", "proxy"])
      yield* decide(approval, "allow")
      const text = yield* textOf(run)
      assert.include(text, String.raw`200 from outside\n200 from outside`)
      assert.strictEqual(networkApprovals(run).length, 1)
      yield* Effect.promise(() => until(async () => !existsSync(sockets) || undefined, "their removal"))
    })
  )

  it.live("fail if they are denied", () =>
    Effect.gen(function* () {
      const { decide, fetching, outside, pending, textOf } = yield* open
      const run = yield* fetching("http://asked.test/", "http://asked.test/again")
      yield* decide(yield* pending(run, "network"), "deny")
      const text = yield* textOf(run)
      assert.include(text, String.raw`failed fetch failed\nfailed fetch failed`)
      assert.include(text, "The connection to asked.test:80 was not approved.")
      assert.include(text, "run.completed")
      assert.deepStrictEqual(outside.connected, [])
    })
  )

  it.live("of two runs to one host have their own approvals", () =>
    Effect.gen(function* () {
      const { decide, fetching, pending, textOf } = yield* open
      const runs = [yield* fetching("http://asked.test/"), yield* fetching("http://asked.test/")] as const
      const [first, second] = [yield* pending(runs[0], "network"), yield* pending(runs[1], "network")]
      yield* decide(first, "allow")
      yield* decide(second, "deny")
      assert.include(yield* textOf(runs[0]), "200 from outside")
      assert.notInclude(yield* textOf(runs[1]), "200 from outside")
    })
  )

  it.live("need no second approval if the first is remembered", () =>
    Effect.gen(function* () {
      const { decide, fetching, networkApprovals, pending, textOf } = yield* open
      const run = yield* fetching("http://asked.test/")
      yield* decide(yield* pending(run, "network"), "allow", "always")
      yield* textOf(run)
      const later = yield* fetching("http://asked.test/")
      assert.include(yield* textOf(later), "200 from outside")
      const [approval] = networkApprovals(later)
      assert.match(approval?.decidedBy ?? "", /^policy:remembered:/)
    })
  )

  it.live("to this machine are refused without a question, once in the timeline", () =>
    Effect.gen(function* () {
      const { fetching, networkApprovals, textOf } = yield* open
      const run = yield* fetching("http://10.0.0.1/", "http://10.0.0.1/", "http://169.254.169.254/")
      const text = yield* textOf(run)
      assert.strictEqual(text.split('"network:1"').length, 2)
      assert.include(text, "10.0.0.1:80 is an address of this machine or its network.")
      assert.include(text, "169.254.169.254:80 is an address of this machine or its network.")
      assert.deepStrictEqual(networkApprovals(run), [])
    })
  )

  it.live("to 1,000 hosts of one run are 8 approvals, and the rest is refused", () =>
    Effect.gen(function* () {
      const { folder, networkApprovals, outside, running, supervisor, textOf } = yield* open
      // 40 at a time: 8 wait for their decisions, and the others are refused.
      const run = yield* running(
        `import { writeFileSync } from "node:fs"; let next = 0, refused = 0; const each = async () => { while (next < 1000) await fetch("http://h" + next++ + ".test/").catch(() => { if (++refused === 992) writeFileSync("refused.txt", "all") }) }; await Promise.all(Array.from({ length: 40 }, each))`
      )
      yield* Effect.promise(() =>
        until(async () => existsSync(join(folder, "refused.txt")) || undefined, "992 refusals", 60_000)
      )
      assert.strictEqual(networkApprovals(run).length, 8)
      yield* supervisor.cancel(run.id, "enough", "local")
      const text = yield* textOf(run)
      assert.include(text, "More connections were refused. They are not listed.")
      // The questions, the refusals that are listed, and the end: a line for each host would be more.
      assert.isBelow(text.split("\n").length, 80)
      assert.strictEqual(networkApprovals(run).length, 8)
      assert.deepStrictEqual(outside.connected, [])
    })
  )

  it.live("need a variable of Node that only tools have, if the runtime does not connect", () =>
    Effect.gen(function* () {
      const { decide, pending, services, textOf } = yield* open
      const run = yield* startRun(
        services,
        "/shell grep -hzc ^NODE_USE_ENV_PROXY= /proc/$PPID/environ /proc/self/environ\n/say done"
      )
      yield* decide(yield* pending(run, "shell"), "allow")
      assert.include(yield* textOf(run), String.raw`"output":"0\n1\n"`)
    })
  )

  it.live("do not keep a run from its end while they wait", () =>
    Effect.gen(function* () {
      const { fetching, networkApprovals, pending, supervisor, textOf } = yield* open
      const run = yield* fetching("http://asked.test/")
      yield* pending(run, "network")
      yield* supervisor.cancel(run.id, "enough", "local")
      assert.include(yield* textOf(run), "run.cancelled")
      assert.deepStrictEqual(
        networkApprovals(run).map(({ state }) => state),
        ["cancelled"]
      )
    })
  )
})
