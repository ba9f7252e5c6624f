/** Reads a list page by page with the cursor. */
import { assert } from "@effect/vitest"
import type { HubClient } from "@corral/testing/hub/HubClient"

export interface ListPage<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
  readonly requestId: string
}

/** All items; `between` runs after each page except the last. */
export const walk = async <A>(
  client: HubClient,
  path: string,
  limit: number | (() => number) = 2,
  between: () => Promise<void> = async () => undefined
): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for (let cursor: string | null = ""; cursor !== null;) {
    if (cursor !== "") await between()
    const size = typeof limit === "number" ? limit : limit()
    const query = new URLSearchParams({ limit: String(size), ...(cursor === "" ? {} : { cursor }) })
    const page: { readonly status: number; readonly text: string; readonly body: ListPage<A> } =
      await client.ask<ListPage<A>>("GET", `${path}${path.includes("?") ? "&" : "?"}${query}`)
    assert.strictEqual(page.status, 200, page.text)
    assert.isAtMost(page.body.items.length, size)
    items.push(...page.body.items)
    cursor = page.body.nextCursor
  }
  return items
}
