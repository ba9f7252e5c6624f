/** The proxies of docs/self-host.md, as they stand there, in front of a real Hub. Only ports, names and certificates are replaced. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { HubClient } from "@corral/testing/hub/HubClient"
import { openHub } from "@corral/testing/hub/HubProcess"
import { createdRun, Mirror, runStarted } from "@corral/testing/hub/Mirror"
import { refusedUpgrade, StreamReader } from "@corral/testing/hub/StreamReader"
import { until } from "@corral/testing/time/Until"

const page = readFileSync(new URL("../docs/self-host.md", import.meta.url), "utf8")

const example = (language: string): string => {
  const [, text] = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "m").exec(page) ?? []
  if (text === undefined) throw new Error(`docs/self-host.md has no ${language} block`)
  return text
}

interface ProxyExample {
  readonly name: string
  /** Debian's package has it there. */
  readonly program: string
  readonly version: string
  readonly args: (folder: string) => ReadonlyArray<string>
  readonly config: (port: number, hubPort: number, folder: string) => Readonly<Record<string, string>>
}

/** Replaced once at least: an example that has changed its words is noticed. */
const replaced = (text: string, ...pairs: ReadonlyArray<readonly [RegExp, string]>): string =>
  pairs.reduce((before, [pattern, by]) => {
    const after = before.replaceAll(pattern, by)
    assert.notStrictEqual(after, before, String(pattern))
    return after
  }, text)

const proxies: ReadonlyArray<ProxyExample> = [
  {
    name: "nginx",
    program: "/usr/sbin/nginx",
    version: "-v",
    args: (folder) => ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")],
    config: (port, hubPort, folder) => ({
      "nginx.conf": [
        `daemon off; pid ${folder}/pid; error_log stderr; events {}`,
        "http { access_log off;",
        ...["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
          (name) => `${name}_temp_path ${folder}/${name};`
        ),
        replaced(
          example("nginx"),
          [/listen 443 ssl http2;/g, `listen 127.0.0.1:${port};`],
          [/^ *ssl_\w+ .*;\n/gm, ""],
          [/127\.0\.0\.1:7400/g, `127.0.0.1:${hubPort}`]
        ),
        "}"
      ].join("\n")
    })
  },
  {
    name: "Caddy",
    program: "/usr/bin/caddy",
    version: "version",
    args: (folder) => ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")],
    config: (port, hubPort) => ({
      Caddyfile: `{\n  admin off\n  auto_https off\n}\n${replaced(
        example("caddyfile"),
        [/^corral\.example\.com \{/gm, `http://127.0.0.1:${port} {`],
        [/127\.0\.0\.1:7400/g, `127.0.0.1:${hubPort}`]
      )}`
    })
  }
]

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** A request from another address of this machine; gives its status. */
const from = (
  localAddress: string,
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { localAddress, headers, agent: false }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0))
    })
    sent.once("error", reject).end()
  })

describe("The proxy examples of docs/self-host.md", () => {
  for (const proxy of proxies) {
    const isThere = spawnSync(proxy.program, [proxy.version]).status === 0

    const open = async () => {
      const [port, hubPort] = [await freePort(), await freePort()]
      const hub = await openHub({
        env: {
          CORRAL_HUB_PORT: String(hubPort),
          CORRAL_HUB_PUBLIC_URL: `http://127.0.0.1:${port}`,
          CORRAL_HUB_TRUSTED_PROXIES: "127.0.0.1",
          CORRAL_HUB_SIGN_INS_PER_MINUTE: "5"
        }
      })
      const folder = mkdtempSync(join(tmpdir(), "corral-proxy-"))
      for (const [name, text] of Object.entries(proxy.config(port, hubPort, folder)))
        writeFileSync(join(folder, name), text)
      const child = spawn(proxy.program, proxy.args(folder), {
        stdio: ["ignore", "ignore", "pipe"],
        env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
      })
      let stderr = ""
      child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
      const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
      onTestFinished(async () => {
        child.kill("SIGTERM")
        await ended
        rmSync(folder, { recursive: true, force: true })
      })
      const url = `http://127.0.0.1:${port}`
      const answers = () =>
        from("127.0.0.1", `${url}/health`).then(
          (status) => (status === 200 ? true : undefined),
          () => undefined
        )
      await until(answers, `an answer of ${proxy.name}`).catch((error: Error) => {
        throw new Error(`${error.message}: ${stderr}`)
      })
      return { hub, url }
    }

    it.skipIf(!isThere)(`${proxy.name}: passes requests, events and the upgrade of WebSockets`, async () => {
      const { hub, url } = await open()
      const { token, userId } = await hub.people.signIn("ada")
      const ada = new HubClient(url, token, userId)
      assert.strictEqual((await ada.ask("GET", "/client/auth/me")).status, 200)
      const mirror = new Mirror(hub)
      const runId = await mirror.run(await mirror.project(userId), createdRun, runStarted)
      const reader = await StreamReader.open(ada, `runId=${runId}`)
      await reader.count(2)
      reader.drop()
      // A link's own upgrade: the Hub answers it, not the proxy.
      const refused = await refusedUpgrade(new HubClient(url, null), "", "/client/events")
      assert.deepStrictEqual([refused.status, refused.body.code], [401, "unauthorized"])
    })

    it.skipIf(!isThere)(`${proxy.name}: refusals of one client do not affect other clients`, async () => {
      const { hub, url } = await open()
      const begin = (address: string, headers?: Readonly<Record<string, string>>) =>
        from(address, `${url}/client/auth/login`, headers)
      const statuses: Array<number> = []
      // Forged headers do not make it another client.
      for (let i = 0; i < 8; i++)
        statuses.push(
          await begin("127.0.0.2", {
            "x-forwarded-for": `198.51.100.${i}, 127.0.0.1`,
            forwarded: `for=198.51.100.${i}`
          })
        )
      assert.deepStrictEqual(statuses, [404, 404, 404, 404, 404, 429, 429, 429])
      assert.strictEqual(await begin("127.0.0.3"), 404)
      const logged = () => Promise.resolve(hub.stderr.includes("127.0.0.2") ? true : undefined)
      await until(logged, "the log line")
      assert.match(hub.stderr, /refused request/)
      assert.notInclude(hub.stderr, "198.51.100.")
    })
  }
})
