/**
 * The five minutes of `docs/start.md`, on a clone of what is committed: `npm ci && npm start`, then a browser from the sign-in to a run that
 * was allowed and whose changes are read. Prints the seconds of each step. Needs the package registry.
 */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const MINUTES = 5

/** The address that `npm start` says. */
const served = async (child: ChildProcess): Promise<string> => {
  const { stderr, stdout } = child
  if (stdout === null || stderr === null) throw new Error("its output is read")
  let output = ""
  stderr.setEncoding("utf8").on("data", (text: string) => (output += text))
  for await (const text of stdout.setEncoding("utf8")) {
    output += String(text)
    const line = /^\{"ready":true.*\}$/m.exec(output)
    if (line !== null) return JSON.parse(line[0]).url
  }
  throw new Error(`it has ended:\n${output}`)
}

describe.skipIf(!hasChromium)("the first run", () => {
  it("takes less than five minutes from a clone", { timeout: 2 * MINUTES * 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "corral-first-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const clone = join(folder, "corral")
    const home = join(folder, "home")
    const steps: Array<readonly [string, number]> = []
    const step = async <A>(what: string, does: () => A | Promise<A>): Promise<A> => {
      const since = performance.now()
      const received = await does()
      steps.push([what, (performance.now() - since) / 1_000])
      return received
    }
    const npm = (...args: ReadonlyArray<string>) =>
      execFileSync("npm", [...args], { cwd: clone, stdio: "pipe", encoding: "utf8" })

    await step("git clone", () => execFileSync("git", ["clone", "--quiet", root, clone]))
    await step("npm ci", () => npm("ci"))
    const env = { ...process.env, CORRAL_HOME: home, CORRAL_HUB_PORT: "0" }
    const child = spawn("npm", ["start"], {
      cwd: clone,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    const ended = once(child, "close")
    const stop = async () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM")
      await ended
    }
    onTestFinished(stop)
    const url = await step("npm start", () => served(child))

    const browser = await ConsoleBrowser.open()
    onTestFinished(() => browser.close())
    const page = await browser.page(url, "corral_s_none", "/")
    await step("sign in", async () => {
      await page.getByRole("link", { name: "Sign in" }).click()
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("heading", { level: 1, name: "Home" }).waitFor()
    })
    await step("start the run", async () => {
      await page.getByRole("button", { name: /^Agent: / }).click()
      await page.getByRole("menuitemradio", { name: /^Scripted/ }).click()
      await page.getByLabel("Message", { exact: true }).fill("Read the notes and write a summary")
      await page.getByLabel("Message", { exact: true }).press("Enter")
      await page.waitForURL(/\/sessions\/ses_/)
    })
    await step("allow it", async () => {
      await page.getByRole("region", { name: /^Approval: Write NOTES\.md/ }).waitFor()
      await page.getByRole("button", { name: "Allow once" }).click()
      await page.locator(".turn-state-completed").waitFor()
    })
    await step("read its changes", async () => {
      await page.getByRole("button", { name: "Changes", exact: true }).click()
      await page.getByRole("button", { name: /NOTES\.md/ }).waitFor()
    })
    assert.isNotEmpty(readFileSync(join(home, "sample/NOTES.md"), "utf8"))
    assert.deepStrictEqual(browser.complaints, [])

    const seconds = steps.reduce((sum, [, each]) => sum + each, 0)
    const received = [...steps, ["in all", seconds] as const].map(
      ([what, each]) => `${what}: ${each.toFixed(1)} s`
    )
    process.stdout.write(`${received.join("\n")}\n`)
    assert.isBelow(seconds, MINUTES * 60)
  })
})
