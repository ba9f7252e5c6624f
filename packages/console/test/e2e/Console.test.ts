/** Pages of the console in a real browser, with a real Hub and a real Edge. */
import { assert, describe, it } from "@effect/vitest"
import { newPrivateKey, publicKeyOf } from "@corral/edge/link/DeviceKey"
import type { BrowserContextOptions, Page } from "playwright-core"
import type { Joined } from "@corral/testing/stack/Joined"
import { HubClient } from "@corral/testing/hub/HubClient"
import { makeSession } from "@corral/testing/hub/People"
import { until } from "@corral/testing/time/Until"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { faultsOf, measured, measuring } from "../harness/faults.ts"
import { storedAs } from "../harness/SentRequests.ts"

const phone = { width: 390, height: 844 }

describe.skipIf(!hasChromium)("the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened), {
    hubEnv: { CORRAL_HUB_DEV_SIGN_IN: "1" }
  })

  const at = (target: string, options: BrowserContextOptions = {}): Promise<Page> =>
    browser.page(joined.front.url, token, target, options)
  const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name })

  it("signs in by the identity provider, returns to the requested page, and signs out", async () => {
    // An expired sign-in.
    const page = await browser.page(joined.front.url, "corral_s_ended", "/projects?x=1")
    await heading(page, "Corral").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("link", { name: "Sign in" }).click()
    await page.getByLabel("Your name").fill("Grace")
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Sign in" }).click()
    await heading(page, "Projects").waitFor()
    assert.strictEqual(new URL(page.url()).pathname, "/projects")
    await page.getByText("No projects yet.").waitFor()
    await page.waitForFunction(() => document.title === "Projects · Corral")

    await page.getByRole("button", { name: "Grace" }).click()
    await page.getByRole("menuitem", { name: "Sign out" }).click()
    await page.getByRole("link", { name: "Sign in" }).waitFor()
    await page.reload()
    await page.getByRole("link", { name: "Sign in" }).waitFor()
    await browser.end(page)
  })

  it("leaves nothing of an account to the next one: after a sign-out, in other tabs, and after an expired sign-in", async () => {
    const page = await at("/")
    const stored = (of: Page) => of.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    const untilStored = (of: Page, text: string) =>
      until(
        async () => String(await stored(of)).includes(text) || undefined,
        `"${text}" in the storage`,
        10_000
      )
    const field = (of: Page) => of.getByRole("textbox", { name: "Message" })
    const untilField = (of: Page, text: string) =>
      until(
        async () => (await field(of).inputValue()) === text || undefined,
        `"${text}" in the field`,
        10_000
      )
    const signInAs = async (person: string) =>
      browser.signIn(page, joined.front.url, (await joined.hub.people.signIn(person, "web")).token)

    await signInAs("owner")
    await page.reload()
    await field(page).fill("a secret of the owner")
    await untilStored(page, "a secret of the owner")
    const other = await page.context().newPage()
    await other.goto("/")
    await untilField(other, "a secret of the owner")
    await field(other).fill("another secret of the owner")
    await page.getByRole("button", { name: "owner", exact: true }).click()
    await page.getByRole("menuitem", { name: "Sign out" }).click()
    await page.getByRole("link", { name: "Sign in" }).waitFor()
    await other.getByRole("link", { name: "Sign in" }).waitFor()
    assert.notInclude(await stored(page), "secret")

    await signInAs("mate")
    await page.goto("/")
    await field(page).fill("a secret of the mate")
    await untilStored(page, "a secret of the mate")
    // Another account signs in without a sign-out of the earlier one.
    await signInAs("owner")
    await other.goto("/")
    await untilField(other, "")
    await untilField(page, "")
    assert.notInclude(await stored(page), "secret")
    await browser.end(page)
  })

  it("creates a project, a session and a message by keyboard", async () => {
    const page = await at("/")
    await heading(page, "Home").waitFor()
    await page.keyboard.press("Tab")
    assert.strictEqual(await page.locator(":focus").textContent(), "Skip to content")
    const focus = async (name: string): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press("Tab")
        const found = await page.locator(":focus").evaluate((element) => element.textContent?.trim())
        if (found === name) return
      }
      assert.fail(`no way to ${name} by Tab`)
    }
    await focus("Projects")
    await page.keyboard.press("Enter")
    await heading(page, "Projects").waitFor()
    assert.strictEqual(await page.locator(":focus").textContent(), "Projects")
    await focus("New project")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog", { name: "New project" }).waitFor()
    await page.keyboard.type("Beacon")
    await page.keyboard.press("Enter")
    await heading(page, "Beacon").waitFor()
    await focus("New session")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog", { name: "New session" }).waitFor()
    await page.keyboard.type("First light")
    await page.keyboard.press("Enter")
    await heading(page, "First light").waitFor()
    await page.getByRole("textbox", { name: "Message" }).focus()
    await page.keyboard.type("<b>hello</b> there")
    await page.keyboard.press("Enter")
    await page.getByRole("log").getByText("<b>hello</b> there").waitFor()
    await browser.end(page)
  })

  it("focuses the first field of a dialog before the next key, and returns the focus", async () => {
    const page = await at("/projects")
    const button = page.getByRole("button", { name: "New project" })
    const focused = await button.evaluate(async (element: HTMLElement) => {
      // A frame that comes late, as on a busy machine.
      const nextFrame = window.requestAnimationFrame
      window.requestAnimationFrame = (work) => window.setTimeout(() => nextFrame(work), 200)
      element.focus()
      element.click()
      await new Promise((done) => setTimeout(done))
      window.requestAnimationFrame = nextFrame
      return document.activeElement?.getAttribute("name")
    })
    assert.strictEqual(focused, "name")
    await page.getByRole("dialog", { name: "New project" }).waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("dialog", { name: "New project" }).waitFor({ state: "hidden" })
    await page.waitForFunction(() => document.activeElement?.textContent === "New project")
    await browser.end(page)
  })

  it("shows how to add a device and when it has joined", async () => {
    const page = await at("/devices")
    await page.getByText("online", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Add device" }).click()
    const dialog = page.getByRole("dialog", { name: "Add device" })
    await dialog.getByText(`corral device join --hub ${joined.front.url} --token-file -`).waitFor()
    await dialog.getByRole("button", { name: "Create join token" }).click()
    const joinToken = (await dialog.locator("code").nth(1).textContent()) ?? ""
    assert.deepStrictEqual(await seriousOf(page), [])
    assert.notInclude(page.url(), joinToken)
    const body = { name: "bench", kind: "edge", publicKey: publicKeyOf(newPrivateKey()), joinToken }
    const created = await new HubClient(joined.front.url, null).ask("POST", "/client/devices/register", {
      body
    })
    assert.strictEqual(created.status, 201, created.text)
    await dialog.getByText("bench has joined.").waitFor()
    await dialog.getByRole("button", { name: "Close" }).click()

    const row = page.getByRole("listitem").filter({ hasText: "bench" })
    await row.getByRole("button", { name: "Actions for bench" }).click()
    await page.getByRole("menuitem", { name: "Share" }).click()
    await page.getByRole("checkbox", { name: "Atlas" }).check()
    await page.getByRole("button", { name: "Save" }).click()
    await row.getByText("shared with Atlas").waitFor()
    await row.getByRole("button", { name: "Actions for bench" }).click()
    await page.getByRole("menuitem", { name: "Revoke" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click()
    await row.getByText("revoked").waitFor()
    await browser.end(page)
  })

  it("starts a session, lists its run and shows its pending approval", async () => {
    const page = await at(`/start?projectId=${joined.projectId}&agentId=scripted`)
    await page.getByRole("button", { name: /^Agent: Scripted/ }).waitFor()
    await page.getByLabel("Message", { exact: true }).fill("/write beacon.txt light")
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await page.waitForURL(/\/sessions\/ses_/)
    const other = await at("/")
    await other.getByRole("link", { name: "1 request needs you" }).waitFor()
    await other
      .getByRole("list", { name: "Needs you" })
      .getByText("Write beacon.txt", { exact: true })
      .waitFor()
    await other.waitForFunction(() => document.title === "(1) Home · Corral")
    await other.emulateMedia({ colorScheme: "dark" })
    await other.setViewportSize(phone)
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<{ readonly id: string }> }>(
      "GET",
      `/client/runs?projectId=${joined.projectId}&state=waiting_approval`
    )
    await joined.owner.ask("POST", `/client/runs/${body.items[0]?.id ?? ""}/cancel`)
    await other
      .getByRole("list", { name: "Finished since your last visit" })
      .getByText("/write beacon.txt light")
      .waitFor()
    await other.waitForFunction(() => document.title === "Home · Corral")
    await other.goto(`/runs?state=cancelled&projectId=${joined.projectId}`)
    await other.getByRole("link", { name: "/write beacon.txt light" }).waitFor()
    await other.getByLabel("State").selectOption("failed")
    await other.getByText("No runs match these filters.").waitFor()
    assert.include(other.url(), "state=failed")
    await browser.end(other)
    await browser.end(page)
  })

  it("shows and verifies the audit log, and shows a new API key once", async () => {
    const page = await at(`/audit?projectId=${joined.projectId}`)
    await page.getByRole("list", { name: /Records/ }).waitFor()
    // The projects to choose from may come after the records.
    const project = page.getByLabel("Project", { exact: true })
    await until(
      async () => (await project.inputValue()) === joined.projectId || undefined,
      "the project of the address"
    )
    await page.getByRole("button", { name: "Verify integrity" }).click()
    await page.getByText(/Audit log is intact\. \d+ records checked/).waitFor()
    await page.goto("/account")
    await page.getByRole("button", { name: "New key" }).click()
    await page.getByLabel("Name").fill("builds")
    await page.getByRole("dialog").getByRole("button", { name: "New key" }).click()
    const key = (await page.getByRole("status").locator("code").textContent()) ?? ""
    assert.match(key, /^corral_/)
    await page.getByRole("button", { name: "Done" }).click()
    assert.notInclude((await page.textContent("body")) ?? "", key)
    await page.getByRole("button", { name: "Revoke" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click()
    await page.getByText("No API keys.").waitFor()
    await browser.end(page)
  })

  it("passes axe on each page, light and dark, in both languages, on desktop and phone", async () => {
    const session = await makeSession(joined.owner, { id: joined.projectId })
    const project = `/projects/${joined.projectId}`
    const parts = ["sessions", "runs", "members", "workspaces", "settings"].map(
      (tab) => `${project}?tab=${tab}`
    )
    const targets = [
      "/",
      "/projects",
      ...parts,
      `/sessions/${session.id}`,
      `/start?projectId=${joined.projectId}`,
      "/board",
      "/runs",
      "/devices"
    ]
    const looks = [
      { name: "light", options: { viewport: { width: 1200, height: 760 } }, lang: "en", only: undefined },
      {
        name: "dark",
        options: { viewport: phone, colorScheme: "dark", locale: "zh-CN" },
        lang: "zh-CN",
        // What else there is to find does not depend on colours and widths.
        only: ["color-contrast", "target-size"]
      }
    ] as const
    const look = async ({ lang, name, only, options }: (typeof looks)[number]): Promise<void> => {
      const page = await at("/nowhere", options)
      const faults = faultsOf(page, joined.front.url)
      await measuring(page)
      for (const target of [...targets, `/audit?projectId=${joined.projectId}`, "/account", "/nowhere"]) {
        await page.goto(target)
        await page.getByRole("heading", { level: 1 }).waitFor()
        await page
          .getByText(/Loading…|加载中…/)
          .first()
          .waitFor({ state: "detached" })
        const what = `${target} ${name}`
        assert.deepStrictEqual(await seriousOf(page, only), [], what)
        assert.strictEqual(await page.locator("html").getAttribute("lang"), lang, what)
        const width = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.isAtMost(width, options.viewport.width, what)
        assert.match(await page.title(), /^(\(\d+\) )?\S.* · Corral$/, what)
        assert.strictEqual(await page.locator("h1").count(), 1, what)
        assert.strictEqual(await page.locator("meta[name=viewport][content*=width]").count(), 1, what)
        const { moved, shift } = await measured(page)
        assert.isBelow(shift, 0.1, `${what}\n${moved}`)
        // The address that is not a page is the last one.
        const isMissing = (fault: string) =>
          target === "/nowhere" && (fault === `404 ${page.url()}` || fault.includes("status of 404"))
        assert.deepStrictEqual(
          faults.filter((fault) => !isMissing(fault)),
          [],
          what
        )
      }
      await browser.end(page)
    }
    await Promise.all(looks.map(look))
  })

  it("shows focus in forced colours, respects reduced motion, and loads on a slow machine", async () => {
    const page = await at("/nowhere", { forcedColors: "active", reducedMotion: "reduce" })
    await page.goto("/")
    await page.getByRole("button", { name: "owner" }).click()
    await page.getByRole("menu").waitFor()
    const moving = await page.evaluate(
      `document.getAnimations().length + [...document.querySelectorAll("*")].filter((element) => {
        const { animationDuration, animationName, transitionDuration } = getComputedStyle(element)
        return parseFloat(transitionDuration) > 0.01 || (animationName !== "none" && parseFloat(animationDuration) > 0.01)
      }).length`
    )
    assert.strictEqual(moving, 0)
    await page.keyboard.press("ArrowDown")
    await page.locator("[data-highlighted]:focus").waitFor()
    const outlined = `(() => { const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
      return outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 })()`
    assert.isTrue(await page.evaluate(outlined), "the menu")
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "owner" }).and(page.locator(":focus")).waitFor()
    for (let nth = 0; nth < 8; nth++) {
      await page.keyboard.press("Shift+Tab")
      assert.isTrue(await page.evaluate(outlined), (await page.locator(":focus").textContent()) ?? "")
    }
    await page.getByLabel("Message", { exact: true }).focus()
    assert.isTrue(await page.evaluate(outlined), "the composer")
    const devtools = await page.context().newCDPSession(page)
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: 4 })
    await measuring(page)
    await page.reload()
    await heading(page, "Home").waitFor()
    // Reported only: times on a shared machine are too unstable for an assertion.
    console.info(
      `largest contentful paint on a machine four times as slow: ${(await measured(page)).largest} ms`
    )
    await browser.end(page)
  })

  it("stores the selected theme and language", async () => {
    const page = await at("/")
    await page.getByRole("button", { name: "owner" }).click()
    await storedAs(page, () => page.getByRole("menuitemradio", { name: "Dark" }).click())
    await storedAs(page, () => page.getByRole("menuitemradio", { name: "中文" }).click())
    await page.keyboard.press("Escape")
    await page.reload()
    await heading(page, "首页").waitFor()
    assert.strictEqual(await page.locator("html").getAttribute("data-theme"), "dark")
    await joined.owner.ask("PATCH", "/client/preferences", { body: { theme: null, language: null } })
    await browser.end(page)
  })

  // Last, because it stops the device.
  it("shows an offline device on the home page, and a task that waits for it", async () => {
    const page = await at(`/start?projectId=${joined.projectId}`)
    await page.getByRole("button", { name: /^Workspace: laptop/ }).waitFor()
    await joined.edge.stop()
    await page.getByText("laptop is offline. The message waits until the device is back.").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    const { body } = await joined.tryTask({ text: "/say later", onOffline: "queue" })
    await page.goto(`/tasks/${body.id}`)
    await page.getByText("The device is offline.").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.getByRole("button", { name: "Cancel task" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel task" }).click()
    await page.getByText("The task ended without a run.").waitFor()
    await browser.end(page)
  })
})
