import { assert, describe, it } from "@effect/vitest"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import {
  isNews,
  isNotifiable,
  type NotificationContext,
  notificationKey,
  withClaim
} from "../../src/notification/Notifications.tsx"

// Only kind, id and state decide.
const hint = (kind: string, state: string) => ({ kind, id: `${kind}_1`, state }) as unknown as ChangeHint

describe("NotificationDecision", () => {
  it("considers approvals and changes that wait, and runs that ended by themselves", () => {
    const hints = [
      hint("approval", "pending"),
      hint("approval", "approved"),
      hint("changes", "open"),
      hint("changes", "decided"),
      hint("run", "running"),
      hint("run", "completed"),
      hint("run", "failed"),
      hint("run", "cancelled"),
      hint("limit", "near"),
      hint("limit", "reached"),
      hint("task", "completed"),
      hint("device", "offline")
    ]
    assert.deepStrictEqual(hints.map(isNotifiable), [
      true,
      false,
      true,
      false,
      false,
      true,
      true,
      false,
      true,
      true,
      false,
      false
    ])
  })

  it("are one for each day and state of a limit", () => {
    const limit = (day: string, state: string) =>
      notificationKey({ ...hint("limit", state), day } as ChangeHint)
    const keys = [
      limit("2026-11-29", "near"),
      limit("2026-11-29", "near"),
      limit("2026-11-29", "reached"),
      limit("2026-11-30", "near")
    ]
    assert.strictEqual(new Set(keys).size, 3)
  })

  it("is news only while notifications are on, every tab is hidden, and for what came after the page", () => {
    const at = "2026-06-09T12:00:00.000Z"
    const context: NotificationContext = {
      isOn: true,
      isHidden: true,
      isVisibleElsewhere: false,
      openedAt: Date.parse(at)
    }
    assert.isTrue(isNews(at, context))
    for (const other of [
      { isOn: false },
      { isHidden: false },
      { isVisibleElsewhere: true },
      { openedAt: Date.parse(at) + 1 }
    ])
      assert.isFalse(isNews(at, { ...context, ...other }), JSON.stringify(other))
    assert.isFalse(isNews("no time", context))
  })

  it("notifies once of the changes of each run", () => {
    const changes = (runId: string) =>
      notificationKey({ ...hint("changes", "open"), runId } as unknown as ChangeHint)
    assert.strictEqual(changes("run_1"), changes("run_1"))
    assert.notStrictEqual(changes("run_1"), changes("run_2"))
  })

  it("lets one tab claim an item, and remembers a bounded number", () => {
    const key = notificationKey(hint("run", "completed"))
    const claims = withClaim(null, key)
    assert.isDefined(claims)
    assert.isUndefined(withClaim(claims, key))
    assert.isDefined(withClaim(claims, "run other"))
    let text = claims
    for (let n = 0; n < 500; n++) text = withClaim(text, `approval ${n}`) ?? text
    assert.isAtMost(text.split("\n").length, 200)
    assert.isUndefined(withClaim(text, "approval 499"))
  })
})
