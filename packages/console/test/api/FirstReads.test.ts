/** First reads of a page, and the connection that reports changes after them. */
import { assert, describe, it } from "@effect/vitest"
import { QueryClient, QueryObserver } from "@tanstack/react-query"
import { afterEach, beforeEach, vi } from "vitest"

/** A request of the page, and how the test answers it. */
interface SentRequest {
  readonly path: string
  readonly answer: (response: Response) => void
}

describe("the first reads of a page", () => {
  const requests: Array<SentRequest> = []
  const paths = () => requests.map(({ path }) => path)
  beforeEach(() => {
    vi.useFakeTimers()
    // The hold belongs to a page: each test opens a new one.
    vi.resetModules()
    vi.stubGlobal("fetch", (path: string) => {
      const { promise, resolve } = Promise.withResolvers<Response>()
      requests.push({ path, answer: resolve })
      return promise
    })
  })
  afterEach(() => {
    requests.length = 0
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  const settle = () => vi.advanceTimersByTimeAsync(0)

  /** A page that follows changes and shows its preferences. */
  const open = async () => {
    const { followChanges } = await import("../../src/api/ChangeFeed.ts")
    const { earlyApi, hubApi } = await import("../../src/api/Hub.ts")
    const client = new QueryClient()
    const observer = new QueryObserver(client, {
      queryKey: ["preferences"],
      queryFn: () => hubApi.preferences.get(),
      staleTime: 60_000,
      retry: false
    })
    observer.subscribe(() => {})
    void followChanges(client, new AbortController().signal, {
      onConnectionChange: () => undefined,
      onHints: () => undefined
    })
    await settle()
    return { earlyApi, hubApi }
  }
  const answer = async (path: string, response: Response) => {
    requests.findLast((each) => each.path === path)?.answer(response)
    await settle()
  }
  const connect = () => answer("/client/news", new Response(new ReadableStream()))
  const readPreferences = () => answer("/client/preferences", Response.json({}))

  it("come after the connection, and once", async () => {
    await open()
    assert.deepStrictEqual(paths(), ["/client/news"])
    await connect()
    await readPreferences()
    await vi.advanceTimersByTimeAsync(10_000)
    assert.deepStrictEqual(paths(), ["/client/news", "/client/preferences"])
  })

  it("come without a connection after 3 s, and again when there is one", async () => {
    await open()
    await vi.advanceTimersByTimeAsync(2_999)
    assert.deepStrictEqual(paths(), ["/client/news"])
    await vi.advanceTimersByTimeAsync(1)
    await readPreferences()
    await connect()
    assert.deepStrictEqual(paths(), ["/client/news", "/client/preferences", "/client/preferences"])
  })

  it("come when the connection is refused, and again when there is one", async () => {
    await open()
    await answer("/client/news", new Response(null, { status: 503 }))
    await readPreferences()
    await vi.advanceTimersByTimeAsync(500)
    await connect()
    assert.deepStrictEqual(paths(), [
      "/client/news",
      "/client/preferences",
      "/client/news",
      "/client/preferences"
    ])
  })

  it("come when the connection is refused for ever", async () => {
    await open()
    await answer("/client/news", Response.json({ code: "permission_denied" }, { status: 403 }))
    assert.deepStrictEqual(paths(), ["/client/news", "/client/preferences"])
  })

  it("do not hold the sign-in and writes", async () => {
    vi.stubGlobal("document", { cookie: "" })
    const { earlyApi, hubApi } = await open()
    void earlyApi.auth.me()
    void hubApi.auth.logout()
    await settle()
    assert.deepStrictEqual(paths(), ["/client/news", "/client/auth/me", "/client/auth/logout"])
  })
})
