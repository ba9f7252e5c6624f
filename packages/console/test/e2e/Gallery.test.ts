/** The gallery of development builds, photographed, and its absence from what people install. */
import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { build, preview, type PreviewServer } from "vite"
import { ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { faultsOf } from "../harness/faults.ts"

const configFile = fileURLToPath(new URL("../../vite.config.ts", import.meta.url))
/** Where pictures go, for a person to look at. */
const pictures = process.env["CORRAL_TEST_ROUTE_PICTURES"]
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'"

const folder = mkdtempSync(join(tmpdir(), "corral-gallery-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const built = async (environment: "development" | "production"): Promise<string> => {
  vi.stubEnv("NODE_ENV", environment)
  const outDir = join(folder, environment)
  try {
    await build({ configFile, mode: environment, logLevel: "error", build: { outDir } })
  } finally {
    vi.unstubAllEnvs()
  }
  return outDir
}

const textOf = (directory: string): string =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(js|css|html)$/.test(name))
    .map((name) => readFileSync(join(directory, name), "utf8"))
    .join("\n")

describe("the files that people install", () => {
  it("contain no gallery", async () => {
    const text = textOf(await built("production"))
    assert.include(text, "page-head")
    assert.notMatch(text, /gallery/i)
  })
})

describe.skipIf(!hasChromium)("the gallery", () => {
  let browser: ConsoleBrowser
  let server: PreviewServer
  let url: string
  beforeAll(async () => {
    const outDir = await built("development")
    assert.match(textOf(outDir), /gallery/i)
    server = await preview({
      configFile,
      build: { outDir },
      preview: { host: "127.0.0.1", port: 0, headers: { "content-security-policy": policy } }
    })
    url = new URL(server.resolvedUrls?.local[0] ?? "").origin
    browser = await ConsoleBrowser.open()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  const shown = async (page: Page, name: string): Promise<void> => {
    if (pictures !== undefined)
      await page.screenshot({ path: join(pictures, `gallery-${name}.png`), fullPage: true })
    assert.isAbove((await page.screenshot({ fullPage: true })).length, 10_000)
    assert.deepStrictEqual(await seriousOf(page), [], name)
    const [wide, window] = (await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")) as [
      number,
      number
    ]
    assert.isAtMost(wide, window, name)
  }

  it.each([
    ["light", { viewport: { width: 1_280, height: 800 } }],
    ["dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark", locale: "zh-CN" }]
  ] as const)(
    "shows each component, a menu and the dialogs, in %s, without a complaint",
    async (name, options) => {
      const page = await browser.page(url, "none", "about:blank", options)
      const faults = faultsOf(page, url)
      await page.goto(`${url}/gallery`)
      await page.getByRole("region", { name: "RefusalNote" }).waitFor()
      await page.evaluate("document.fonts.ready")
      await shown(page, name)

      await page.getByRole("region", { name: "RowMain, RowMenu" }).getByRole("button").first().click()
      await page.getByRole("menuitem").nth(1).waitFor()
      await shown(page, `${name}-menu`)
      await page.keyboard.press("Escape")
      await page.getByRole("menu").waitFor({ state: "detached" })

      const dialogs = page.getByRole("region", { name: "FormDialog, ConfirmDialog" }).getByRole("button")
      for (const [nth, role] of [
        [0, "dialog"],
        [1, "alertdialog"]
      ] as const) {
        await dialogs.nth(nth).click()
        await page.getByRole(role).waitFor()
        await shown(page, `${name}-${role}`)
        await page.keyboard.press("Escape")
        await page.getByRole(role).waitFor({ state: "detached" })
      }
      assert.deepStrictEqual(faults, [])
      assert.deepStrictEqual(browser.complaints, [])
      await page.context().close()
    }
  )
})
