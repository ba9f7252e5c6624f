import { assert, describe, it } from "@effect/vitest"
import type { DeviceId, ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { type RunFacts, sessionStatuses } from "../../src/status/SessionStatus.tsx"

const run = (id: string, session: string, state: RunFacts["state"], createdAt = id): RunFacts => ({
  id: id as RunId,
  sessionId: session as SessionId,
  projectId: "prj_1" as ProjectId,
  targetId: "dev_laptop" as DeviceId,
  state,
  createdAt,
  pendingApprovals: []
})
const statuses = (
  runs: ReadonlyArray<RunFacts>,
  waiting: ReadonlyArray<string> = [],
  offline: ReadonlyArray<string> = [],
  { mayDecide = true, mayWork = true } = {}
) =>
  Object.fromEntries(
    sessionStatuses(runs, {
      waiting: new Set(waiting as ReadonlyArray<RunId>),
      offline: new Set(offline as ReadonlyArray<DeviceId>),
      rights: { mayDecide: () => mayDecide, mayWork: () => mayWork }
    })
  )

describe("SessionStatus", () => {
  it("prefers what needs a person over work, and work over a failure", () => {
    const runs = [
      run("1", "a", "running"),
      run("2", "a", "waiting_approval"),
      run("3", "b", "failed"),
      run("4", "b", "queued"),
      run("5", "b", "starting"),
      run("6", "c", "queued")
    ]
    assert.deepStrictEqual(statuses(runs), { a: "needsYou", b: "working", c: "waiting" })
  })

  it("shows a pending approval before the run's state follows, and not after its end", () => {
    const runs = [run("1", "a", "running"), run("2", "b", "completed")]
    assert.deepStrictEqual(statuses(runs, ["1", "2"]), { a: "needsYou" })
  })

  it("shows changes that wait after the end of the newest run, to users who can decide, below a failure", () => {
    const open = { id: "chs_1", runId: "run_1", state: "open", fileCount: 2 } as NonNullable<
      RunFacts["changes"]
    >
    const runs = [
      { ...run("1", "a", "completed"), changes: open },
      { ...run("2", "b", "cancelled"), changes: open },
      { ...run("3", "c", "failed"), changes: open },
      { ...run("4", "d", "running"), changes: open },
      { ...run("5", "e", "completed"), changes: { ...open, direct: true as const } },
      { ...run("6", "f", "completed"), changes: { ...open, state: "decided" as const } },
      { ...run("7", "g", "completed"), changes: open },
      run("8", "g", "completed")
    ]
    assert.deepStrictEqual(statuses(runs), { a: "changes", b: "changes", c: "failed", d: "working" })
    assert.deepStrictEqual(statuses(runs, [], [], { mayDecide: false }), { c: "failed", d: "working" })
  })

  it("does not need readers who can't answer", () => {
    const runs = [run("1", "a", "waiting_approval"), run("2", "b", "waiting_input"), run("3", "b", "running")]
    const viewer = { mayDecide: false, mayWork: false }
    assert.deepStrictEqual(statuses(runs, [], [], viewer), { a: "needsOthers", b: "needsOthers" })
    const member = { mayDecide: false }
    assert.deepStrictEqual(statuses(runs, [], [], member), { a: "needsOthers", b: "needsYou" })
  })

  it("shows a pause below work and a needed decision, and not on a device that is offline", () => {
    const paused = { paused: true } as const
    const runs = [
      { ...run("1", "a", "running"), ...paused },
      { ...run("2", "b", "running"), ...paused },
      run("3", "b", "running"),
      { ...run("4", "c", "waiting_approval"), ...paused },
      { ...run("5", "d", "starting"), ...paused },
      run("6", "d", "queued")
    ]
    assert.deepStrictEqual(statuses(runs), { a: "paused", b: "working", c: "needsYou", d: "paused" })
    assert.strictEqual(statuses(runs, [], ["dev_laptop"])["a"], "offline")
  })

  it("does not say that a run works on a device that is offline", () => {
    const runs = [
      run("1", "a", "running"),
      run("2", "b", "waiting_approval"),
      run("3", "c", "queued"),
      run("4", "d", "completed"),
      run("5", "e", "queued"),
      run("6", "e", "starting")
    ]
    assert.deepStrictEqual(statuses(runs, [], ["dev_laptop"]), {
      a: "offline",
      b: "needsYou",
      c: "waiting",
      e: "offline"
    })
    assert.strictEqual(statuses(runs, [], ["dev_other"])["a"], "working")
  })

  it("shows a failure until a later run, in any order of the list", () => {
    const failed = run("2", "a", "failed")
    assert.deepStrictEqual(statuses([run("1", "a", "completed"), failed]), { a: "failed" })
    assert.deepStrictEqual(statuses([failed, run("3", "a", "completed")]), {})
    assert.deepStrictEqual(statuses([run("3", "a", "completed"), failed]), {})
    assert.deepStrictEqual(statuses([failed, run("3", "a", "cancelled")]), {})
  })

  it("ignores runs without a session", () => {
    const { sessionId: _, ...alone } = run("1", "a", "running")
    assert.deepStrictEqual(statuses([alone]), {})
  })
})
