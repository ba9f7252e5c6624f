/** The loaded part of a list equals the list of the Hub after any change, and is never read whole again. */
import { assert, describe, it } from "@effect/vitest"
import type { SessionItem } from "@corral/domain/session/Session"
import * as fc from "fast-check"
import { type SessionPages, withFirstPage, withNextPage, withSession } from "../../src/api/Sessions.ts"

const PAGE = 4

const item = (id: number, at: number): SessionItem =>
  // Times are compared as texts of one length.
  ({
    id: `ses_${String(id).padStart(4, "0")}`,
    projectId: "prj",
    title: String(id),
    state: "active",
    updatedAt: `t${String(at).padStart(6, "0")}`
  }) as unknown as SessionItem

const order = (a: SessionItem, b: SessionItem): number =>
  a.updatedAt === b.updatedAt ? (a.id < b.id ? 1 : -1) : a.updatedAt < b.updatedAt ? 1 : -1

/** A Hub's list: newest change first, in pages whose cursor is their last session. */
class FakeList {
  items: Array<SessionItem> = []
  private at = 0

  change(id: number): void {
    const changed = item(id, ++this.at)
    this.items = [changed, ...this.items.filter((each) => each.id !== changed.id)].toSorted(order)
  }

  page(cursor: string | null): SessionPages {
    const from = cursor === null ? undefined : (JSON.parse(cursor) as SessionItem)
    const rest = from === undefined ? this.items : this.items.filter((each) => order(each, from) > 0)
    const items = rest.slice(0, PAGE)
    return { items, nextCursor: rest.length > PAGE ? JSON.stringify(items.at(-1)) : null }
  }
}

const step = fc.oneof(
  fc.record({ kind: fc.constant("change" as const), id: fc.integer({ min: 0, max: 20 }) }),
  fc.record({ kind: fc.constant("refresh" as const), id: fc.constant(0) }),
  fc.record({ kind: fc.constant("more" as const), id: fc.constant(0) })
)

describe("SessionPages", () => {
  it("are a part of the list without gaps after each refresh", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), fc.array(step, { maxLength: 60 }), (count, steps) => {
        const hub = new FakeList()
        for (let id = 0; id < count; id++) hub.change(id)
        let loaded = withFirstPage(undefined, hub.page(null))
        for (const { id, kind } of steps) {
          if (kind === "change") hub.change(id)
          else if (kind === "refresh") loaded = withFirstPage(loaded, hub.page(null))
          else if (loaded.nextCursor !== null) {
            const cursor = loaded.nextCursor
            loaded = withNextPage(loaded, cursor, hub.page(cursor))
          }
        }
        loaded = withFirstPage(loaded, hub.page(null))
        assert.deepStrictEqual(loaded.items, hub.items.slice(0, loaded.items.length))
        // The cursor may outlive the sessions after it, which have moved to the top: its page is empty then.
        for (let cursor = loaded.nextCursor; cursor !== null; cursor = loaded.nextCursor)
          loaded = withNextPage(loaded, cursor, hub.page(cursor))
        assert.deepStrictEqual(loaded.items, hub.items)
      })
    )
  })

  it("ignores a page that no longer continues them", () => {
    const loaded: SessionPages = { items: [item(1, 9)], nextCursor: "new" }
    assert.strictEqual(withNextPage(loaded, "old", { items: [item(2, 3)], nextCursor: null }), loaded)
  })

  it("takes up a changed session in its place, and drops one that the filter excludes", () => {
    const loaded: SessionPages = { items: [item(3, 9), item(2, 8), item(1, 7)], nextCursor: "more" }
    const ids = (pages: SessionPages) => pages.items.map(({ title }) => title)
    assert.deepStrictEqual(ids(withSession(loaded, item(1, 10), true)), ["1", "3", "2"])
    assert.deepStrictEqual(ids(withSession(loaded, item(2, 8), false)), ["3", "1"])
    assert.deepStrictEqual(ids(withSession(loaded, item(4, 8), true)), ["3", "4", "2", "1"])
    // Older than the loaded part: its page brings it.
    assert.deepStrictEqual(ids(withSession(loaded, item(5, 1), true)), ["3", "2", "1"])
    const read = { ...item(2, 8), unread: 0 }
    assert.strictEqual(withSession(loaded, read, true).items[1]?.unread, 0)
    assert.strictEqual(withSession(loaded, item(2, 8), true), loaded)
  })
})
