/** The page of a desktop shell against a real Edge, in Chromium: `examples/desktop`, every route of the Edge, and pages that are not listed. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"
import { build } from "esbuild"
import { readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"

const example = fileURLToPath(new URL("../../../../examples/desktop/", import.meta.url))

/** Serves the built page of the example at an origin. */
const servePage = async (): Promise<{ readonly origin: string; readonly server: Server }> => {
  const { outputFiles } = await build({
    entryPoints: [`${example}page.ts`],
    bundle: true,
    format: "esm",
    platform: "browser",
    write: false
  })
  const content = new Map([
    ["/", readFileSync(`${example}page.html`, "utf8")],
    ["/page.js", outputFiles[0]?.text],
    // A page that may do anything.
    ["/plain", "<!doctype html><title>Plain</title>"]
  ])
  const server = createServer(({ url = "" }, response) => {
    response.setHeader("content-type", url === "/page.js" ? "text/javascript" : "text/html")
    response.end(content.get(url))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

interface Endpoint {
  readonly method: string
  readonly path: string
}

const endpoints: Array<Endpoint> = []
HttpApi.reflect(EdgeApi, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint: { method, path } }) =>
    void endpoints.push({ method, path: path.replaceAll(/:[A-Za-z]+/g, "none") })
})

describe.skipIf(!hasChromium)("the page of a desktop shell", () => {
  let browser: ConsoleBrowser
  let served: Awaited<ReturnType<typeof servePage>>
  let other: Awaited<ReturnType<typeof servePage>>
  let edge: EdgeProcess
  beforeAll(async () => {
    ;[browser, served, other] = await Promise.all([ConsoleBrowser.open(), servePage(), servePage()])
    edge = new EdgeProcess({
      env: {
        CORRAL_EDGE_ALLOWED_ORIGINS: JSON.stringify([served.origin]),
        CORRAL_EDGE_ORPHAN_MS: "60000"
      }
    })
    await edge.start()
  })
  afterAll(async () => {
    served.server.close()
    other.server.close()
    await Promise.all([browser.close(), edge.remove()])
  })

  /** A page of an origin, with the shell's function. */
  const opened = async (origin: string): Promise<Page> => {
    const page = await browser.page(origin, "none", "about:blank")
    await page.exposeFunction("edgeLocation", () => {
      const { url } = JSON.parse(readFileSync(join(edge.home, "edge.json"), "utf8")) as {
        readonly url: string
      }
      return { url, token: edge.token }
    })
    await page.goto(origin)
    return page
  }
  const startRun = async (page: Page, text: string): Promise<void> => {
    await page.getByText("Connected.").waitFor()
    await page.getByLabel("Agent").selectOption("scripted")
    await page.getByLabel("Task").fill(text)
    await page.getByRole("button", { name: "Start" }).click()
  }

  it("lists, starts, follows and decides, also after the Edge was killed and started again", async () => {
    const page = await opened(served.origin)
    await startRun(page, "/write hello.txt hi")
    await page.getByRole("button", { name: "Allow" }).waitFor()
    await edge.kill()
    await page.getByText("The Edge cannot be reached.").waitFor()
    await edge.start()
    await page.getByText("Connected.").waitFor()
    await page.getByRole("button", { name: "Allow" }).click()
    await page.getByRole("heading", { name: /completed$/ }).waitFor()
    await page.getByRole("button", { name: "scripted: completed" }).waitFor()
    assert.strictEqual(readFileSync(join(edge.workspace, "hello.txt"), "utf8"), "hi\n")
    await startRun(page, "/write no.txt no")
    await page.getByRole("button", { name: "Deny" }).click()
    await page.getByRole("heading", { name: /completed$/ }).waitFor()
    await page.setViewportSize({ width: 390, height: 700 })
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 390)
    await browser.end(page)
  })

  const listed = async () =>
    (
      (await edge.client.ask("GET", "/v1/runs?limit=100")).body as {
        readonly items: ReadonlyArray<{ readonly id: string }>
      }
    ).items

  /** What a script of the page sees of each request: its status and the headers that it may read. */
  const seen = (page: Page, requests: ReadonlyArray<Endpoint>, token: string | undefined) =>
    page.evaluate(
      ([url, wanted, bearer]) =>
        Promise.all(
          wanted.map(async ({ method, path }) => {
            const headers = {
              ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
              ...(method === "GET"
                ? {}
                : { "content-type": "application/json", "idempotency-key": crypto.randomUUID() }),
              "x-corral-origin": "desktop"
            }
            const stop = new AbortController()
            try {
              const response = await fetch(url + path, {
                method,
                headers,
                signal: stop.signal,
                ...(method === "GET" || method === "DELETE" ? {} : { body: "{}" })
              })
              return { path, status: response.status, id: response.headers.get("x-request-id") }
            } catch (error) {
              return { path, status: 0, id: String(error) }
            } finally {
              stop.abort()
            }
          })
        ),
      [edge.url, requests, token] as const
    )

  it("reads every route, with its errors, an event stream of both kinds and a download", async () => {
    const page = await opened(served.origin)
    for (const token of [edge.token, "wrong", undefined])
      for (const { id, path, status } of await seen(page, endpoints, token)) {
        assert.isAbove(status, 0, `${path}: ${id}`)
        assert.match(String(id), /^req_/, path)
      }
    await startRun(page, "/artifact report.md text/markdown # Report")
    await page.getByRole("heading", { name: /completed$/ }).waitFor()
    const [run] = await listed()
    const downloaded = await page.evaluate(
      async ([url, token, id]) => {
        const ask = (path: string) => fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
        const { items } = (await (await ask(`/v1/runs/${id}/artifacts`)).json()) as {
          readonly items: ReadonlyArray<{ readonly id: string }>
        }
        const response = await ask(`/v1/artifacts/${items[0]?.id}/content`)
        return [response.headers.get("content-disposition"), await response.text()]
      },
      [edge.url, edge.token, run?.id] as const
    )
    assert.match(String(downloaded[0]), /report\.md/)
    assert.strictEqual(downloaded[1], "# Report")
    const events = await page.evaluate(
      async ([url, token, id]) => {
        const response = await fetch(`${url}/v1/runs/${id}/events`, {
          headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" }
        })
        const text = await response.text()
        return { type: response.headers.get("content-type"), count: text.split("\n\n").length }
      },
      [edge.url, edge.token, run?.id] as const
    )
    assert.match(String(events.type), /^text\/event-stream/)
    assert.isAbove(events.count, 2)
    const frame = await page.evaluate(
      ([url, token]) =>
        new Promise<string>((resolve, reject) => {
          const socket = new WebSocket(`${url.replace("http", "ws")}/v1/events?token=${token}`)
          socket.addEventListener("message", ({ data }) => resolve(String(data)))
          socket.addEventListener("error", () => reject(new Error("the stream is closed")))
        }),
      [edge.url, edge.token] as const
    )
    assert.include(frame, "run.")
    await browser.end(page)
  })

  it("is refused at another port, another name, or without an origin, and learns nothing", async () => {
    const list = [{ method: "GET", path: "/v1/runs" }] as const
    const create = [{ method: "POST", path: "/v1/runs" }] as const
    const lookAlike = served.origin.replace("127.0.0.1", "localhost")
    const before = (await listed()).length
    for (const origin of [other.origin, lookAlike]) {
      const page = await browser.page(origin, "none", "/plain")
      for (const requests of [list, create])
        for (const token of [edge.token, undefined])
          assert.deepStrictEqual(
            (await seen(page, requests, token)).map(({ status }) => status),
            [0],
            origin
          )
      await browser.end(page)
    }
    // A sandboxed frame has the origin `null`.
    const page = await browser.page(served.origin, "none", "/plain")
    const outcome = await page.evaluate(
      ([url, token]) =>
        new Promise<string>((resolve) => {
          addEventListener("message", ({ data }) => resolve(String(data)), { once: true })
          const frame = document.createElement("iframe")
          frame.setAttribute("sandbox", "allow-scripts")
          const script = `fetch("${url}/v1/runs", { headers: { authorization: "Bearer ${token}" } })
            .then(({ status }) => parent.postMessage(status, "*"), () => parent.postMessage("refused", "*"))`
          frame.srcdoc = `<script>${script}</script>`
          document.body.append(frame)
        }),
      [edge.url, edge.token] as const
    )
    assert.strictEqual(outcome, "refused")
    assert.deepStrictEqual(
      (await seen(page, list, edge.token)).map(({ status }) => status),
      [200]
    )
    assert.strictEqual((await listed()).length, before)
    await browser.end(page)
  })
})
