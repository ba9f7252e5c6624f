/** Previews over a real Edge: who gets in, what of a folder is shown, how they are listed and closed. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Preview } from "@corral/domain/device/Preview"
import { Schema } from "effect"
import { mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { openUpstream } from "../preview/Upstream.ts"
import { refusalOf, visit, Visitor } from "../preview/Visitor.ts"

const OpenedPreview = Schema.Struct({ ...Preview.fields, url: Schema.String })
const openedOf = Schema.decodeUnknownSync(OpenedPreview)

const folder = (path: string) => ({ kind: "folder", path })
const port = (port: number) => ({ kind: "port", port })

const tryCreate = (client: EdgeClient, source: object, more: object = {}, headers = {}) =>
  client.ask("POST", "/v1/previews", {
    body: { workspace: "ws", title: "A preview", source, ...more },
    headers
  })

const create = async (client: EdgeClient, source: object, more: object = {}) => {
  const answer = await tryCreate(client, source, more)
  assert.strictEqual(answer.status, 201, answer.text)
  const preview = openedOf(answer.body)
  assert.strictEqual(answer.headers.get("location"), `/v1/previews/${preview.id}`)
  return preview
}

const freshUrl = async (client: EdgeClient, id: string): Promise<string> => {
  const answer = await client.ask("GET", `/v1/previews/${id}`)
  assert.strictEqual(answer.status, 200, answer.text)
  return openedOf(answer.body).url
}

/** A new Edge whose workspace has a site, and around it what no visitor may see. */
const withSite = async (open: typeof openEdgeProcess = openEdgeInProcess) => siteOf(await open())

const siteOf = (edge: EdgeProcess) => {
  const site = join(edge.workspace, "site")
  mkdirSync(join(site, "docs"), { recursive: true })
  mkdirSync(join(site, ".git"))
  mkdirSync(join(site, "bare"))
  mkdirSync(join(edge.workspace, ".git"))
  writeFileSync(join(site, "index.html"), "<h1>Home</h1>")
  writeFileSync(join(site, "docs", "index.html"), "<h1>Docs</h1>")
  writeFileSync(join(site, "app.mjs"), "export {}")
  writeFileSync(join(site, "no type"), "?")
  writeFileSync(join(site, "empty.css"), "")
  writeFileSync(join(site, ".env"), "SECRET=1")
  writeFileSync(join(site, ".git", "config"), "SECRET=1")
  writeFileSync(join(edge.workspace, "outside.txt"), "SECRET=1")
  symlinkSync("../outside.txt", join(site, "outside.txt"))
  symlinkSync(edge.home, join(site, "home"))
  symlinkSync(".env", join(site, "visible.txt"))
  symlinkSync(".git", join(site, "visible"))
  symlinkSync("docs", join(site, "manual"))
  return { edge, client: edge.client, site }
}

describe("A preview", () => {
  /** For tests that leave the site and the Edge as they are. */
  const shared = new EdgeInProcess()
  beforeAll(async () => {
    await shared.start()
    siteOf(shared)
  })
  afterAll(() => shared.remove())

  it("admits the holder of a ticket once, and no other caller", async () => {
    const edge = shared
    const { client } = edge
    const preview = await create(client, folder("site"))
    const { origin, pathname, search } = new URL(preview.url)
    assert.notStrictEqual(origin, edge.url)
    assert.match(preview.url, /^http:\/\/127\.0\.0\.1:\d+\/\?ticket=[\w-]{43}$/)

    const closed = await visit(origin, "/")
    assert.deepStrictEqual([closed.status, refusalOf(closed)], [401, "unauthorized"])
    assert.isString(closed.headers["content-security-policy"])
    assert.match(String(closed.headers["x-request-id"]), /^req_/)

    const visitor = await Visitor.enter(preview.url)
    assert.deepStrictEqual(await visitor.visit("/").then(({ status, text }) => [status, text]), [
      200,
      "<h1>Home</h1>"
    ])
    const again = await visit(origin, pathname + search)
    assert.deepStrictEqual([again.status, refusalOf(again)], [401, "unauthorized"], "used")
    const alsoWithCookie = await visitor.visit(pathname + search)
    assert.strictEqual(alsoWithCookie.status, 401, "used, with the cookie too")

    const other = await create(client, folder("site/docs"))
    const foreign = await visit(origin, new URL(other.url).search.replace(/^/, "/"))
    assert.strictEqual(foreign.status, 401, "the ticket of another preview")
    const stranger = await Visitor.enter(other.url)
    const crossed = await visit(origin, "/", { headers: { cookie: stranger.cookie } })
    assert.strictEqual(crossed.status, 401, "the cookie of another preview")
    const head = await visit(origin, `/${new URL(await freshUrl(client, preview.id)).search}`, {
      method: "HEAD"
    })
    assert.strictEqual(head.status, 401, "a ticket opens a page, nothing else")

    const urls = [await freshUrl(client, preview.id), await freshUrl(client, preview.id)]
    assert.notStrictEqual(urls[0], urls[1])
    for (const url of urls) await Visitor.enter(url)
    // The Edge's own token is worth nothing here, and nothing of a ticket or a cookie is written down.
    const withToken = await visit(origin, "/", { headers: { authorization: `Bearer ${edge.token}` } })
    assert.strictEqual(withToken.status, 401)
    for (const secret of [search.slice(8), visitor.cookie, edge.token]) assert.notInclude(edge.stderr, secret)
  })

  it("refuses another Host, Origin or page, for requests and upgrades alike", async () => {
    const { client } = shared
    const { url } = await create(client, folder("site"))
    const visitor = await Visitor.enter(url)
    const { port: at } = new URL(url)
    const host = `Host: 127.0.0.1:${at}`
    const heads: ReadonlyArray<ReadonlyArray<string>> = [
      [],
      [host, host],
      [`Host: localhost:${at}`],
      ["Host: 127.0.0.1"],
      [`Host: evil.example:${at}`],
      [`Host: 127.0.0.1:${at}.evil.example`],
      [host, "Origin: http://evil.example"],
      [host, "Origin: null"],
      [host, `Origin: http://localhost:${at}`],
      [host, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"],
      [host, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"],
      [host, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"],
      [host, "Sec-Fetch-Site: same-site"]
    ]
    const upgrade = [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="
    ]
    for (const head of heads) {
      for (const more of [[], upgrade]) {
        const bytes = message(["GET / HTTP/1.1", ...head, `Cookie: ${visitor.cookie}`, ...more])
        const answer = await sendRaw(Number(at), bytes)
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"], head.join())
      }
    }
    const absolute = message([`GET http://evil.example/ HTTP/1.1`, host, `Cookie: ${visitor.cookie}`])
    assert.strictEqual((await sendRaw(Number(at), absolute)).status, 403)

    for (const site of ["same-origin", "none"]) {
      const seen = await visitor.visit("/", { headers: { "sec-fetch-site": site, origin: visitor.origin } })
      assert.strictEqual(seen.status, 200, site)
    }
    // A person's click in a page of another port of this machine: the console's, say.
    const click = {
      "sec-fetch-site": "same-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document"
    }
    assert.strictEqual((await visitor.visit("/", { headers: click })).status, 200)
    const elsewhere = { ...click, "sec-fetch-site": "cross-site" }
    assert.strictEqual((await visitor.visit("/", { headers: elsewhere })).status, 403)
    const socket = await visitor.socket("/hmr").catch((error: Error) => error.message)
    assert.include(String(socket), "404", "a folder has no sockets")
  })

  it("is entered from a page of any site by a person's navigation with a ticket, and in no other way", async () => {
    const { client } = shared
    const { url } = await create(client, folder("site"))
    const { origin, pathname, search } = new URL(url)
    const from = { "sec-fetch-site": "cross-site" }
    const click = { ...from, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
    const others: ReadonlyArray<Readonly<Record<string, string>>> = [
      from,
      { ...click, "sec-fetch-dest": "iframe" },
      { ...click, "sec-fetch-dest": "object" },
      { ...click, origin: "https://hub.example" },
      { ...from, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
      { ...from, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }
    ]
    for (const headers of others) {
      const seen = await visit(origin, pathname + search, { headers })
      assert.deepStrictEqual(
        [seen.status, refusalOf(seen)],
        [403, "permission_denied"],
        JSON.stringify(headers)
      )
      assert.isUndefined(seen.headers["set-cookie"])
    }
    const guessed = await visit(origin, `/?ticket=${"A".repeat(43)}`, { headers: click })
    assert.deepStrictEqual([guessed.status, refusalOf(guessed)], [401, "unauthorized"])
    for (const path of [`/docs/${search}`, `${search.replace("?", "/?a=b&")}`]) {
      const seen = await visit(origin, path, { headers: click })
      assert.strictEqual(seen.status, 403, path)
    }
    // None of them has used the ticket up.
    const visitor = await Visitor.enter(url, click)
    const sameOrigin = { ...click, "sec-fetch-site": "same-origin" }
    assert.strictEqual((await visitor.visit("/", { headers: sameOrigin })).status, 200)
  })

  it("shows the files of a folder, and nothing hidden, outside or listed", async () => {
    const { client, site, edge } = await withSite()
    const visitor = await Visitor.enter((await create(client, folder("site"))).url)
    const shown: ReadonlyArray<readonly [path: string, type: string, text: string]> = [
      ["/?anything", "text/html; charset=utf-8", "<h1>Home</h1>"],
      ["/docs/", "text/html; charset=utf-8", "<h1>Docs</h1>"],
      ["/manual/index.html", "text/html; charset=utf-8", "<h1>Docs</h1>"],
      ["/app.mjs", "text/javascript; charset=utf-8", "export {}"],
      ["/no%20type", "application/octet-stream", "?"],
      ["/empty.css", "text/css; charset=utf-8", ""]
    ]
    for (const [path, type, text] of shown) {
      const seen = await visitor.visit(path)
      assert.deepStrictEqual([seen.status, seen.headers["content-type"], seen.text], [200, type, text], path)
    }
    const moved = await visitor.visit("/docs?a=b")
    assert.deepStrictEqual([moved.status, moved.headers.location], [308, "/docs/?a=b"])
    const part = await visitor.visit("/app.mjs", { headers: { range: "bytes=0-5" } })
    assert.deepStrictEqual(
      [part.status, part.text, part.headers["content-range"]],
      [206, "export", "bytes 0-5/9"]
    )
    const head = await visitor.visit("/app.mjs", { method: "HEAD" })
    assert.deepStrictEqual([head.status, head.text, head.headers["content-length"]], [200, "", "9"])

    const hidden = [
      "/.env",
      "/.git/config",
      "/%2eenv",
      "/visible.txt",
      "/visible/config",
      "/outside.txt",
      "/home/edge.token",
      "/../outside.txt",
      "/%2e%2e/outside.txt",
      "/docs/..%2f..%2foutside.txt",
      "/docs/..%5c..%5coutside.txt",
      "//outside.txt",
      "/docs//index.html",
      `/${encodeURIComponent(join(edge.workspace, "outside.txt"))}`,
      "/app.mjs/",
      "/app.mjs%00.html",
      "/bare/",
      "/nowhere",
      "/%zz"
    ]
    for (const path of hidden) {
      const seen = await visitor.visit(path)
      assert.deepStrictEqual([seen.status, refusalOf(seen)], [404, "not_found"], path)
      assert.notInclude(seen.text, "SECRET")
    }
    const posted = await visitor.visit("/", { method: "POST", body: "x" })
    assert.deepStrictEqual([posted.status, posted.headers.allow], [405, "GET, HEAD"])

    // A folder that is swapped for a link out of the workspace shows nothing more.
    renameSync(site, `${site}-was`)
    symlinkSync(edge.home, site)
    assert.strictEqual((await visitor.visit("/edge.token")).status, 404)
  })

  it("streams files of any size, at its reader's pace, and never passes off a part for the whole", async () => {
    const { client, site, edge } = await withSite(openEdgeProcess)
    writeFileSync(join(site, "large.bin"), "")
    truncateSync(join(site, "large.bin"), 100 * 1_048_576)
    const visitor = await Visitor.enter((await create(client, folder("site"))).url)
    // Buffers that were read into and not yet collected are there from the first reader on.
    for await (const _ of await visitor.begin("/large.bin")) continue
    const before = edge.memory
    const slow = await Promise.all(Array.from({ length: 8 }, () => visitor.begin("/large.bin")))
    let size = 0
    for await (const chunk of await visitor.begin("/large.bin")) size += (chunk as Buffer).length
    assert.strictEqual(size, 100 * 1_048_576)
    assert.isBelow(edge.memory - before, 64 * 1_048_576)

    truncateSync(join(site, "large.bin"), 1_000)
    for (const answer of slow) {
      const whole = (async () => {
        let read = 0
        for await (const chunk of answer) read += (chunk as Buffer).length
        return read
      })()
      assert.include(String(await whole.catch((error: Error) => error.message)), "aborted")
    }
    assert.strictEqual((await visitor.visit("/large.bin")).text.length, 1_000)
  })

  it("is refused for what is not in the workspace, and for the Edge's own ports", async () => {
    const edge = shared
    const { client } = edge
    const shown = await create(client, folder("site"))
    const refused: ReadonlyArray<readonly [source: object, status: number, code: string]> = [
      [folder("../home"), 403, "workspace_outside_allowlist"],
      [folder("/etc"), 403, "workspace_outside_allowlist"],
      [folder("site/home"), 403, "workspace_outside_allowlist"],
      [folder("nowhere"), 404, "not_found"],
      [folder("outside.txt"), 404, "not_found"],
      [folder(".git"), 404, "not_found"],
      [folder("site/visible"), 404, "not_found"],
      [port(edge.port), 403, "permission_denied"],
      [port(Number(new URL(shown.url).port)), 403, "permission_denied"],
      [port(0), 422, "schema_validation_failed"],
      [{ kind: "url", url: "http://evil.example" }, 422, "schema_validation_failed"]
    ]
    for (const [source, status, code] of refused) {
      const answer = await tryCreate(client, source)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code], JSON.stringify(source))
    }
    for (const source of [folder(""), port(9)]) {
      const answer = await tryCreate(client, source, { workspace: "nowhere" })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "workspace_outside_allowlist"])
    }
    const run = await tryCreate(client, folder("site"), { runId: "run_00000000000000000000000000" })
    assert.deepStrictEqual([run.status, codeOf(run)], [404, "not_found"])
    const untitled = await tryCreate(client, folder("site"), { title: "" })
    assert.strictEqual(untitled.status, 422)
    const unsigned = await client.ask("GET", `/v1/previews/${shown.id}`, { token: null })
    assert.strictEqual(unsigned.status, 401)
  })

  it("is listed with its run, closed with DELETE and gone after a restart", async () => {
    const { client, edge } = await withSite(openEdgeProcess)
    const upstream = await openUpstream((_, response) => response.write("and then nothing"))
    const run = await client.create("/say hello")
    const mine = [
      await create(client, folder("site"), { runId: run.id }),
      await create(client, port(upstream.port), { runId: run.id }),
      await create(client, folder("site"), { runId: run.id })
    ]
    await create(client, folder("site"))
    const listed: Array<string> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const query = cursor === "" ? "" : `&cursor=${cursor}`
      const { body, text } = await client.ask("GET", `/v1/runs/${run.id}/previews?limit=2${query}`)
      assert.notInclude(text, "ticket")
      const page = body as {
        readonly items: ReadonlyArray<{ readonly id: string }>
        readonly nextCursor: string | null
      }
      listed.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    }
    assert.deepStrictEqual(listed, mine.map(({ id }) => id).sort())

    const [first, second] = mine
    assert(first !== undefined && second !== undefined)
    const visitor = await Visitor.enter(second.url)
    const hanging = await visitor.begin("/")
    const cut = new Promise<void>((resolve) => hanging.once("close", resolve))
    hanging.on("error", () => undefined).resume()
    const removed = await client.ask("DELETE", `/v1/previews/${second.id}`)
    assert.strictEqual(removed.status, 204)
    await cut
    assert.match(
      await visitor.visit("/").then(String, (error: NodeJS.ErrnoException) => error.code ?? ""),
      /^ECONNREFUSED$/
    )
    for (const method of ["GET", "DELETE"]) {
      const answer = await client.ask(method, `/v1/previews/${second.id}`)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [404, "not_found"])
    }

    const other = await Visitor.enter(await freshUrl(client, first.id))
    await edge.stop()
    await edge.start()
    const afterwards = await edge.client.ask("GET", `/v1/previews/${first.id}`)
    assert.deepStrictEqual([afterwards.status, codeOf(afterwards)], [404, "not_found"])
    assert.strictEqual(
      await other.visit("/").then(String, (error: NodeJS.ErrnoException) => error.code),
      "ECONNREFUSED"
    )
  })

  it("is made once for an idempotency key, and replayed with an address that still opens it", async () => {
    const { client, edge } = await withSite(openEdgeProcess)
    const key = { "idempotency-key": "one" }
    const first = openedOf((await tryCreate(client, folder("site"), {}, key)).body)
    const replay = await tryCreate(client, folder("site"), {}, key)
    assert.deepStrictEqual([replay.status, replay.headers.get("idempotency-replayed")], [201, "true"])
    const { url, ...same } = openedOf(replay.body)
    assert.deepStrictEqual({ ...same, url: first.url }, first)
    assert.notStrictEqual(url, first.url)
    await Visitor.enter(url)
    await Visitor.enter(first.url)
    assert.strictEqual(codeOf(await tryCreate(client, folder(""), {}, key)), "idempotency_conflict")
    await edge.kill()
    await edge.start()
    const late = await tryCreate(edge.client, folder("site"), {}, key)
    assert.deepStrictEqual([late.status, codeOf(late)], [404, "not_found"])
  })

  it("is one of fifty at most", async () => {
    const { client } = await withSite()
    const all = await Promise.all(Array.from({ length: 55 }, () => tryCreate(client, folder("site"))))
    const created = all.filter(({ status }) => status === 201)
    assert.strictEqual(created.length, 50)
    for (const answer of all.filter(({ status }) => status !== 201)) {
      assert.deepStrictEqual([answer.status, codeOf(answer)], [503, "overloaded"])
    }
    assert.strictEqual(
      (await client.ask("DELETE", `/v1/previews/${openedOf(created[0]?.body).id}`)).status,
      204
    )
    await create(client, folder("site"))
  })
})
