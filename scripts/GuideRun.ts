/**
 * Runs the blocks of a guide that are marked `sh`, in order, as a reader would: in a shell, with an empty home, from the root of the
 * repository. For tests.
 *
 * `sh` runs to its end and must succeed; `sh service` is left running once it says that it serves; `sh meanwhile` runs beside the blocks that
 * follow, and must have succeeded at the end. Placeholders such as `run_…` are the latest id of that kind that was printed since the last
 * `sh meanwhile`. What is built is not built again, and what is refused over HTTP is a failure. The port 7400 is
 * another one, so that pages do not meet. What asks to be signed in is answered at the identity provider for development.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { dirname, join } from "node:path"
import { Browser, locationOf } from "@corral/testing/hub/Browser"

export interface Block {
  readonly how: "run" | "service" | "meanwhile"
  readonly text: string
}

const ways = { "": "run", " service": "service", " meanwhile": "meanwhile" } as const

/** The blocks that a page, or a part of one, marks to be run. */
export const blocksOf = (page: string): ReadonlyArray<Block> =>
  [...page.matchAll(/^```sh( service| meanwhile|)\n([^]*?)^```$/gm)].map(([, way = "", text = ""]) => ({
    how: ways[way as keyof typeof ways],
    text
  }))

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

export class GuideRun {
  private readonly home = mkdtempSync(join(tmpdir(), "corral-guide-"))
  private readonly root: string
  private readonly running: Array<{ readonly child: ChildProcess; readonly ended: Promise<void> }> = []
  private readonly meanwhile: Array<Promise<void>> = []
  private port = 0
  private output = ""
  /** Where in `said` ids are looked for. */
  private since = 0
  private wake = Promise.withResolvers<void>()

  constructor(root: string) {
    this.root = root
  }

  /** Runs the blocks; fails with what was said by the first that fails. */
  async run(blocks: ReadonlyArray<Block>): Promise<void> {
    this.port = await freePort()
    for (const { how, text } of blocks) {
      const script = await this.filled(text)
      if (how === "meanwhile") this.since = this.output.length
      const { child, ended, output } = this.start(script)
      const succeed = async (): Promise<void> => {
        await ended
        if (child.exitCode !== 0) throw new Error(`${text}ended with ${child.exitCode}:\n${output()}`)
      }
      const done = succeed()
      if (how === "run") await done
      else if (how === "meanwhile") {
        // Looked at when the page is over.
        done.catch(() => {})
        this.meanwhile.push(done)
      } else await Promise.race([this.until(() => /^\{"ready":true/m.exec(output())?.[0]), done])
    }
    await Promise.all(this.meanwhile)
  }

  async close(): Promise<void> {
    for (const { child } of this.running) {
      // The shell and what it started.
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGTERM")
    }
    await Promise.all(this.running.map(({ ended }) => ended))
    rmSync(this.home, { recursive: true, force: true })
  }

  /** Waits for what the page's programs have not said yet. */
  private async until<A>(look: () => A | undefined): Promise<A> {
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      await this.wake.promise
    }
  }

  private async filled(text: string): Promise<string> {
    let filled = text
      .replaceAll("7400", String(this.port))
      .replaceAll("npm ci && npm start", "node dist/corral up")
      .replaceAll("npm run corral --", "node dist/corral")
      .replaceAll("npm run build\n", "")
      .replaceAll("npm run ", "npm run --silent ")
      .replaceAll("curl -sS ", "curl -fsS ")
    for (const [placeholder, kind = ""] of text.matchAll(/\b([a-z]{3})_…/g)) {
      const id = await this.until(() =>
        this.output
          .slice(this.since)
          .match(new RegExp(`\\b${kind}_[0-9A-Z]{26}\\b`, "g"))
          ?.at(-1)
      )
      filled = filled.replaceAll(placeholder, id)
    }
    return filled
  }

  private start(script: string) {
    const child = spawn("bash", ["--norc", "-euo", "pipefail", "-c", script], {
      cwd: this.root,
      detached: true,
      env: {
        // A guide may end with a live run.
        CORRAL_EDGE_ORPHAN_MS: "0",
        HOME: this.home,
        PATH: [dirname(process.execPath), process.env["PATH"]].join(":"),
        CORRAL_HUB_PORT: String(this.port)
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    const receive = (text: string): void => {
      output += text
      this.output += text
      const instruction = /^Open (\S+)\nand check that it shows the code (\S+)\n/m.exec(text)
      if (instruction !== null)
        void this.allow(instruction[1] ?? "", instruction[2] ?? "").catch((error) => receive(`${error}\n`))
      this.stir()
    }
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", receive)
    const ended = new Promise<void>((resolve) =>
      child.once("close", () => {
        resolve()
        this.stir()
      })
    )
    this.running.push({ child, ended })
    return { child, ended, output: () => output }
  }

  private stir(): void {
    this.wake.resolve()
    this.wake = Promise.withResolvers()
  }

  /** What a person does in a browser: signs in under the name that is proposed, and allows the code. */
  private async allow(address: string, userCode: string): Promise<void> {
    const { origin } = new URL(address)
    const browser = new Browser()
    const follow = async (response: Response): Promise<Response> => {
      let at = response
      while (at.status >= 300 && at.status < 400)
        at = await browser.send(new URL(locationOf(at), at.url).href)
      return at
    }
    const form = await follow(await browser.send(`${origin}/client/auth/login`))
    const body = new URLSearchParams({ name: userInfo().username })
    await follow(await browser.send(form.url, { method: "POST", body }))
    const answered = await browser.hub(`${origin}/client/auth/device/approve`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        origin,
        "x-csrf-token": browser.cookies(origin).get("__Host-corral-csrf") ?? ""
      },
      body: JSON.stringify({ userCode, decision: "allow" })
    })
    if (answered.status !== 204) throw new Error(answered.text)
  }
}
