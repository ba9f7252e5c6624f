import { assert, beforeEach, describe, it } from "@effect/vitest"
import { AccountStorage } from "../../src/api/AccountStorage.ts"
import { MemoryStorage } from "../harness/MemoryStorage.ts"

describe("AccountStorage", () => {
  let local: MemoryStorage
  let session: MemoryStorage
  let page: AccountStorage
  const open = () => new AccountStorage(() => ({ localStorage: local, sessionStorage: session }))
  beforeEach(() => {
    local = new MemoryStorage()
    session = new MemoryStorage()
    page = open()
  })

  it("keeps what an account stored until it signs out, also after its sign-in has expired", () => {
    page.claim("ana")
    page.setItem("corral.draft.home", "secret")
    const next = open()
    assert.isTrue(next.claim("ana"))
    assert.strictEqual(next.getItem("corral.draft.home"), "secret")
    next.release()
    assert.deepStrictEqual([...local.entries.keys()], [])
  })

  it("deletes what another account stored, and keeps the settings of the browser and of other programs", () => {
    local.setItem("corral.theme", "dark")
    local.setItem("other", "kept")
    page.claim("ana")
    page.setItem("corral.draft.home", "secret")
    session.setItem("anything", "secret")
    assert.isTrue(open().claim("bo"))
    assert.deepStrictEqual(Object.fromEntries(local.entries), {
      "corral.theme": "dark",
      other: "kept",
      "corral.account": "bo"
    })
    assert.strictEqual(session.length, 0)
  })

  it("keeps pins, the last visit and notifications for the next sign-in of the account", () => {
    page.claim("ana")
    for (const key of ["corral.pins.ana", "corral.visit.ana"]) page.setItem(key, "1")
    page.setItem("corral.review.ana", "{}")
    page.release()
    assert.deepStrictEqual([...local.entries.keys()], ["corral.pins.ana", "corral.visit.ana"])
  })

  it("deletes what an earlier version stored without an account", () => {
    local.setItem("corral.draft.bo.home", "secret")
    page.claim("ana")
    assert.deepStrictEqual([...local.entries.keys()], ["corral.account"])
  })

  it("is closed for a page whose account no longer has it", () => {
    page.claim("ana")
    const other = open()
    other.claim("bo")
    other.setItem("corral.draft.home", "mine")
    page.setItem("corral.draft.home", "secret")
    page.removeItem("corral.draft.home")
    assert.strictEqual(local.getItem("corral.draft.home"), "mine")
    assert.isNull(page.getItem("corral.draft.home"))
    assert.isNull(page.key(0))
    assert.strictEqual(page.length, 0)
    assert.isTrue(page.isLost)
    assert.isFalse(page.claim("bo"), "the page has the data of ana in memory")
  })

  it("stores nothing before an account has it, after a sign-out, and without a place", () => {
    local = new MemoryStorage(0)
    assert.isTrue(page.claim("ana"))
    assert.isNull(page.getItem("corral.pins"))
    local = new MemoryStorage()
    page = open()
    page.setItem("corral.pins", "[]")
    page.claim("ana")
    page.release()
    page.setItem("corral.pins", "[]")
    assert.strictEqual(local.length, 0)
    assert.isFalse(page.isLost)
  })
})
