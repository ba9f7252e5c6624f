/**
 * The unmodified workbench of Visual Studio Code in Chromium, as `code-server` packs it: offline, without an account, and with its agent host
 * somewhere else.
 *
 * Each window is a separate page. What a window shows is read from its text, as a person reads it.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Browser, Locator, Page } from "playwright-core"
import { freePort } from "../postgres/PostgresServer.ts"
import { hasChromium, launchChromium } from "../process/Chromium.ts"
import { noNetwork, programFolder, reasonOf, registryOptions } from "../process/RegistryProgram.ts"
import { until, within } from "../time/Until.ts"

const VERSION = "4.139.1"
const call = promisify(execFile)

export interface InstalledWorkbench {
  /** Folder of the server. */
  readonly folder: string
  /** Why it cannot be driven here; `undefined` where it can. */
  readonly missing: string | undefined
}

/** Installs the workbench, unless it is there already. Its own scripts are not executed: they compile what these tests do not need. */
export const installWorkbench = async (): Promise<InstalledWorkbench> => {
  const root = join(programFolder, `code-server-${VERSION}`)
  const folder = join(root, "package", "lib", "vscode")
  if (!hasChromium) return { folder, missing: "no Chromium for this system" }
  if (existsSync(join(folder, "node_modules", ".package-lock.json"))) return { folder, missing: undefined }
  try {
    rmSync(root, { recursive: true, force: true })
    mkdirSync(root, { recursive: true })
    const options = { cwd: root, timeout: 300_000 }
    await call("npm", ["pack", ...registryOptions, `code-server@${VERSION}`], options)
    const [archive = ""] = readdirSync(root)
    await call("tar", ["-xzf", archive], options)
    rmSync(join(root, archive))
    await call("npm", ["install", "--omit=dev", "--ignore-scripts", ...registryOptions], {
      ...options,
      cwd: folder
    })
    return { folder, missing: undefined }
  } catch (cause) {
    return { folder, missing: `npm could not install it: ${reasonOf(cause)}` }
  }
}

/** Where the agent host of the windows is. */
export interface HostAddress {
  readonly port: number
  readonly token: string
}

const settings = {
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "chat.tips.enabled": false
}

const LONG_MS = 60_000

export class Workbench {
  private readonly data: string
  private readonly browser: Browser
  private readonly server: ChildProcess
  private readonly url: string

  static async open({ folder }: InstalledWorkbench, { port, token }: HostAddress): Promise<Workbench> {
    const data = mkdtempSync(join(tmpdir(), "corral-workbench-"))
    const user = join(data, "data", "User")
    mkdirSync(user, { recursive: true })
    writeFileSync(join(user, "settings.json"), JSON.stringify(settings))
    const ownPort = await freePort()
    const host = "127.0.0.1"
    const options = {
      host,
      port: String(ownPort),
      "agent-host-bridge-host": host,
      "agent-host-bridge-port": String(port),
      "agent-host-bridge-connection-token": token,
      "server-data-dir": data
    }
    const args = [
      join("out", "server-main.js"),
      "--accept-server-license-terms",
      "--without-connection-token",
      ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    ]
    const env = { PATH: "/usr/bin:/bin", HOME: data, ...noNetwork }
    const server = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] })
    const listening = new Promise<void>((resolve, reject) => {
      let output = ""
      const look = (text: string): void => {
        output += text
        if (output.includes(`listening on ${ownPort}`)) resolve()
      }
      server.stdout.setEncoding("utf8").on("data", look)
      server.stderr.setEncoding("utf8").on("data", look)
      server.once("close", () => reject(new Error(`the workbench ended: ${output}`)))
    })
    await within(listening, LONG_MS, "the workbench")
    const browser = await launchChromium()
    return new Workbench(data, browser, server, `http://${host}:${ownPort}`)
  }

  private constructor(data: string, browser: Browser, server: ChildProcess, url: string) {
    this.data = data
    this.browser = browser
    this.server = server
    this.url = url
  }

  /** A window with this folder, in a separate profile. */
  async window(folder: string): Promise<WorkbenchWindow> {
    const context = await this.browser.newContext({ viewport: { width: 1_400, height: 900 }, locale: "en" })
    const page = await context.newPage()
    page.setDefaultTimeout(LONG_MS)
    await page.goto(`${this.url}/?folder=${encodeURIComponent(folder)}`)
    const window = new WorkbenchWindow(page)
    await window.ready()
    return window
  }

  async close(): Promise<void> {
    await this.browser.close()
    const ended = new Promise((resolve) => this.server.once("close", resolve))
    if (this.server.exitCode === null) {
      this.server.kill("SIGKILL")
      await ended
    }
    rmSync(this.data, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** One window: the chat over the whole width, with the list of sessions next to it. */
export class WorkbenchWindow {
  readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  /** Waits for the chat, and gives it the whole width. */
  async ready(): Promise<void> {
    await this.page.locator(".chat-input-container").first().waitFor()
    const sidebar = this.page.locator("[aria-label^='Maximize Secondary']")
    if ((await sidebar.count()) > 0) await sidebar.first().click()
    await this.page.getByText("New Session", { exact: true }).first().waitFor()
  }

  async reload(): Promise<void> {
    await this.page.reload()
    await this.ready()
  }

  /** Chooses the agent of the new session that a window begins with. The window offers it once it has reached the host. */
  async begin(agent: string): Promise<void> {
    const picker = this.page.locator(".chat-session-target-picker-item .action-label").first()
    await until(
      async () => {
        if ((await picker.innerText()).trim() === agent) return true
        await picker.click()
        const offered = this.page.locator(".action-widget").getByText(agent, { exact: true })
        if ((await offered.count()) > 0) await offered.first().click()
        else await this.page.keyboard.press("Escape")
        return undefined
      },
      `the agent ${agent}`,
      LONG_MS
    )
  }

  /** Texts of the list of sessions. */
  async sessions(): Promise<ReadonlyArray<string>> {
    return this.page.locator(".agent-session-item").allInnerTexts()
  }

  /** Opens the session whose line has this text. */
  async open(text: string): Promise<void> {
    await this.page.locator(".agent-session-item").filter({ hasText: text }).first().click()
    await this.page.locator(".interactive-item-container").first().waitFor()
  }

  /** Sends a message once no turn is in progress. */
  async prompt(text: string): Promise<void> {
    await this.idle()
    await this.send(text)
  }

  /** Sends a message, also during a turn. */
  async send(text: string): Promise<void> {
    await this.page.locator(".chat-input-container .monaco-editor").first().click()
    await this.page.keyboard.insertText(text)
    await this.page.keyboard.press("Enter")
  }

  /** What the conversation shows: the rows that are in view. */
  async text(): Promise<string> {
    return this.page.locator(".interactive-session").first().innerText()
  }

  /** Waits until the conversation shows a text. */
  async shows(text: string | RegExp, millis = LONG_MS): Promise<void> {
    const isShown = (shown: string) => (typeof text === "string" ? shown.includes(text) : text.test(shown))
    const look = async () => (isShown(await this.text()) ? true : undefined)
    await until(look, `the text ${text}`, millis).catch(async (cause: unknown) => {
      throw new Error(`${String(cause)}; the window shows: ${await this.text()}`)
    })
  }

  /** Waits until the agent has said this: a separate line, which a prompt with the same words is not. */
  async hasLine(line: string): Promise<void> {
    await this.shows(new RegExp(String.raw`^\s*${line.replaceAll(/[^\w\s]/g, String.raw`\$&`)}\s*$`, "m"))
  }

  /** Decides the tool call that waits with the button of this name. */
  async decide(label: string): Promise<void> {
    await this.button(label).click()
  }

  /**
   * Waits until the button of a decision is there, and gives what presses it at once. A button that has disappeared meanwhile does nothing, as another decision
   * was made before.
   */
  async armed(label: string): Promise<() => Promise<void>> {
    const button = await this.button(label).elementHandle()
    return async () => button?.dispatchEvent("click")
  }

  /** Waits until the button of a decision is there. */
  async waits(label: string): Promise<void> {
    await this.button(label).waitFor()
  }

  /** Number of decisions and questions that the window shows as open. */
  async openRequests(): Promise<number> {
    return (await this.button("Deny").count()) + (await this.questions.count())
  }

  /** Answers the open question with this option. */
  async choose(option: string): Promise<void> {
    const item = this.page.locator(".chat-question-list-item").filter({ hasText: option }).first()
    await item.click()
  }

  /** Waits until a question is open. */
  async asks(text: string): Promise<void> {
    await this.questions.filter({ hasText: text }).first().waitFor()
  }

  /** Stops the turn in progress. */
  async stop(): Promise<void> {
    await this.page.locator(".chat-execute-toolbar .codicon-stop-circle").first().click()
  }

  /** Waits until no turn is in progress. */
  async idle(): Promise<void> {
    await this.page.locator(".chat-execute-toolbar .codicon-stop-circle").first().waitFor({ state: "hidden" })
  }

  /** Opens the changes of the session, and waits until the comparison shows these texts. */
  async changes(...texts: ReadonlyArray<string>): Promise<void> {
    await this.page
      .getByText(/^\d+ Files?$/)
      .locator("visible=true")
      .first()
      .click()
    const comparison = this.page.locator(".multi-diff-editor, .multiDiffEntry").first()
    await comparison.waitFor()
    await until(
      async () => {
        const shown = (await comparison.innerText()).replaceAll("\u00A0", " ")
        return texts.every((text) => shown.includes(text)) || undefined
      },
      `the comparison with ${texts.join(", ")}`
    )
  }

  picture(path: string): Promise<unknown> {
    return this.page.screenshot({ path })
  }

  private get questions(): Locator {
    return this.page.locator(".chat-question-carousel-container")
  }

  private button(label: string): Locator {
    return this.page
      .locator(".interactive-session")
      .getByText(label, { exact: true })
      .locator("visible=true")
      .first()
  }
}
