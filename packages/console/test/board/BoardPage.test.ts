import { assert, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { SessionItem } from "@corral/domain/session/Session"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { boardOf } from "../../src/board/BoardPage.tsx"

const run = (id: string, state: HubRun["state"], sessionId?: string): HubRun =>
  // Only these fields decide the column.
  ({ id, state, createdAt: id, ...(sessionId === undefined ? {} : { sessionId }) }) as unknown as HubRun
const session = (id: string, unread: number) => ({ id, unread }) as unknown as SessionItem

const rights = { mayDecide: () => true, mayWork: () => true }

const columns = (
  runs: ReadonlyArray<HubRun>,
  sessions: ReadonlyArray<SessionItem> = [],
  waiting: ReadonlyArray<string> = [],
  offline: ReadonlySet<DeviceId> = new Set()
) =>
  Object.fromEntries(
    Object.entries(
      boardOf({ runs, sessions, offline, rights, waiting: new Set(waiting as ReadonlyArray<RunId>) })
    ).map(([column, items]) => [column, items.map(({ run: { id } }): string => id)])
  )

describe("boardOf", () => {
  it("places runs by their state, newest first", () => {
    const runs = [
      run("1", "queued"),
      run("2", "starting"),
      run("3", "running"),
      run("4", "waiting_approval"),
      run("5", "running"),
      run("6", "completed"),
      run("7", "cancelled")
    ]
    assert.deepStrictEqual(columns(runs, [], ["5"]), {
      waiting: ["1"],
      working: ["3", "2"],
      needsYou: ["5", "4"],
      toReview: [],
      done: ["7", "6"]
    })
  })

  it("has runs to review whose changes wait for the user", () => {
    const changes = { state: "open", fileCount: 1 }
    const runs = [{ ...run("1", "completed"), changes } as HubRun, run("2", "completed")]
    assert.deepStrictEqual(columns(runs)["toReview"], ["1"])
  })

  it("keeps a run among those that work while its device is offline, with that status", () => {
    const runs = [{ ...run("1", "running"), targetId: "dev_laptop" as DeviceId }]
    const offline = new Set(runs.map(({ targetId }) => targetId))
    assert.deepStrictEqual(columns(runs, [], [], offline)["working"], ["1"])
    const { working } = boardOf({ runs, sessions: [], waiting: new Set(), offline, rights })
    assert.strictEqual(working[0]?.status, "offline")
  })

  it("shows a session by its runs in progress, or its newest run", () => {
    const runs = [
      run("1", "completed", "a"),
      run("2", "running", "a"),
      run("3", "running", "a"),
      run("4", "failed", "b"),
      run("5", "completed", "b")
    ]
    const { done, working } = columns(runs)
    assert.deepStrictEqual([working, done], [["3", "2"], ["5"]])
  })

  it("asks for a review while the session has unread messages", () => {
    const runs = [run("1", "completed", "a"), run("2", "failed", "b"), run("3", "completed", "c")]
    const { done, toReview } = columns(runs, [session("a", 2), session("b", 1), session("c", 0)])
    assert.deepStrictEqual([toReview, done], [["2", "1"], ["3"]])
  })

  it("shows the candidates of a group as one item, with the status that matters most", () => {
    const ofGroup = (each: HubRun, more: object = {}) => ({ ...each, groupId: "tgr_1", ...more }) as HubRun
    const live = [
      ofGroup(run("1", "completed", "a")),
      ofGroup(run("2", "running", "a")),
      ofGroup(run("3", "waiting_approval", "a"))
    ]
    assert.deepStrictEqual(columns(live)["needsYou"], ["3"])
    assert.deepStrictEqual(columns(live)["working"], [])
    const changes = { state: "open", fileCount: 1 }
    const ended = [ofGroup(run("1", "completed", "a"), { changes }), ofGroup(run("2", "completed", "a"))]
    assert.deepStrictEqual(columns(ended)["toReview"], ["2"])
  })
})
