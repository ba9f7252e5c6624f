/** The usage page, the limits of a project, and what turns say of their cost: with a scripted Hub, and with a real Hub and Edge. */
import { type Project } from "@corral/domain/project/Project"
import { draft } from "@corral/domain/run/RunEvent"
import type { ProjectLimits } from "@corral/domain/usage/Limit"
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import type { Joined } from "@corral/testing/stack/Joined"
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"
import { ScriptedUsage } from "../harness/ScriptedUsage.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

describe.skipIf(!hasChromium)("usage in the console", () => {
  let hub: ScriptedHub
  let browser: ConsoleBrowser
  let usage: ScriptedUsage
  beforeAll(async () => {
    ;[hub, browser] = await Promise.all([ScriptedHub.open(), ConsoleBrowser.open()])
  })
  beforeEach(() => {
    hub.run("Fix the opening hours")
    usage = new ScriptedUsage()
    hub.usage = usage
  })
  afterEach(() => assert.deepStrictEqual(browser.complaints, []))
  afterAll(async () => {
    await browser?.close()
    await hub?.close()
  })

  const open = (target: string, options: object = {}): Promise<Page> =>
    browser.page(hub.url, "token", target, options)
  const isWiderThanScreen = (page: Page): Promise<boolean> =>
    page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)

  it("shows totals, a plot of the days and a table by each dimension, with its CSV", async () => {
    const page = await open("/usage")
    const table = page.getByRole("table")
    await table.waitFor()
    const totals = page.getByLabel("Totals")
    assert.match(
      await totals.innerText(),
      /Cost\s+\$[\d,.]+\s+\$[\d,.]+ estimated\s+\d+ runs without a price/
    )
    assert.match(
      (await page.getByRole("img", { name: /per day/ }).getAttribute("aria-label")) ?? "",
      /^US dollars per day, 30 days\. The most on .+: \$\d/
    )
    const total = await table.getByRole("row", { name: /^Total/ }).innerText()
    for (const [dimension, row] of [
      ["Person", "Ana Example (you)"],
      ["Project", "Shop"],
      ["Agent", "Claude Code"],
      ["Model", "Model not reported"]
    ] as const) {
      await page.getByRole("group", { name: "Table by" }).getByRole("button", { name: dimension }).click()
      await table.getByRole("rowheader", { name: row }).waitFor()
      assert.strictEqual(await table.getByRole("row", { name: /^Total/ }).innerText(), total, dimension)
      const csv = await page.getByRole("link", { name: "Download CSV" }).getAttribute("href")
      const query = new URL(csv ?? "", hub.url).searchParams
      assert.deepStrictEqual(
        [new URL(csv ?? "", hub.url).pathname, query.get("by")],
        ["/client/usage/csv", dimension.toLowerCase()]
      )
    }
    // What has no price has no cost.
    const unpriced = await table.getByRole("row", { name: /qwen3/ }).innerText()
    assert.match(unpriced, /–\s+\d+$/)
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })

  it("describes the day that is pointed at, and plots what is chosen", async () => {
    const page = await open("/usage?days=7")
    const plot = page.getByRole("region", { name: "US dollars per day" })
    const box = await plot.getByRole("img").boundingBox()
    assert.isNotNull(box)
    await plot.getByRole("img").hover({ position: { x: (box?.width ?? 0) - 20, y: 60 } })
    await plot
      .locator(".plot-caption")
      .getByText(/^\w{3},? \d+ \w{3}: \$\d+\.\d\d · [\d.,kM]+ tokens · \d+ runs$/)
      .waitFor()
    await page.getByRole("group", { name: "Plot of" }).getByRole("button", { name: "Tokens" }).click()
    await page.getByRole("region", { name: "Input and output tokens per day" }).waitFor()
    assert.strictEqual(new URL(page.url()).searchParams.get("plot"), "tokens")
    await page.getByLabel("Time").selectOption("90")
    await page.getByRole("img", { name: /90 days/ }).waitFor()
    await browser.end(page)
  })

  it("says that there are no runs, and what is not counted", async () => {
    usage.isEmpty = true
    const page = await open("/usage")
    await page.getByText("No runs in this time.").waitFor()
    await page.getByText(/A run that starts at an Edge without the Hub has its own budget only/).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })

  it.each([
    ["en", "light"],
    ["zh-CN", "dark"]
  ] as const)("fits a phone in %s, %s", async (locale, colorScheme) => {
    const page = await open("/usage?by=model", { ...phone, locale, colorScheme })
    await page.getByRole("table").waitFor()
    assert.isFalse(await isWiderThanScreen(page))
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.locator(".limits").getByRole("button").first().click()
    await page.getByRole("dialog").waitFor()
    assert.isFalse(await isWiderThanScreen(page))
    await browser.end(page)
  })

  it("shows limits with what is used and reserved, and lets admins change them with the run budget", async () => {
    const page = await open("/usage")
    const limits = page.getByRole("region", { name: "Limits per day" })
    const everyone = limits.locator(".limit", { hasText: "Everyone together" })
    await everyone.getByText("$20.61 of $25.00 used · $1.50 reserved by runs in progress").waitFor()
    await everyone.getByText("Nearly used up").waitFor()
    await limits.locator(".limit-use", { hasText: "Bo Example" }).getByText("Used up").waitFor()
    await limits.getByText(/Days in the time zone Europe\/Berlin/).waitFor()

    await limits.getByRole("button", { name: "Set a limit" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("For").selectOption({ label: "Bo Example" })
    await dialog.getByLabel("Tokens per day").fill("2000000")
    // A limit of tokens needs a run budget of tokens.
    await dialog.getByRole("button", { name: "Save" }).click()
    const reserved = dialog.getByRole("group", { name: "A run without a budget reserves" })
    assert.isTrue(
      await reserved.getByLabel("Tokens").evaluate((input: HTMLInputElement) => input.validity.valueMissing)
    )
    assert.deepStrictEqual(hub.received, [])
    await reserved.getByLabel("Tokens").fill("100000")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    assert.deepStrictEqual(
      hub.received.map(({ body }) => body),
      [{ runBudget: { costUsd: 0.5, tokens: 100_000 } }, { tokens: 2_000_000 }]
    )
    assert.match(hub.received[1]?.path ?? "", /\/limits\/usr_\w+2$/)
    await limits.locator(".limit", { hasText: "2M tokens a day" }).waitFor()

    const tokenLimit = limits.locator(".limit", { hasText: "2M tokens a day" })
    await tokenLimit.getByRole("button", { name: "Remove" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click()
    await tokenLimit.waitFor({ state: "detached" })

    await limits.getByRole("button", { name: "Time zone and run budget" }).click()
    await dialog.getByLabel("Time zone of the days").fill("Asia/Shanghai")
    await dialog.getByRole("button", { name: "Save" }).click()
    await limits.getByText(/Days in the time zone Asia\/Shanghai/).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })

  it("lets members read the limits, and change none", async () => {
    hub.access = { role: "member", ownRequests: true }
    const page = await open("/usage")
    const limits = page.getByRole("region", { name: "Limits per day" })
    await limits.getByText("Everyone together").waitFor()
    assert.strictEqual(await limits.getByRole("button").count(), 0)
    await browser.end(page)
  })

  it("shows the cost of a turn and on the board as it grows, and marks an estimate", async () => {
    hub.budget = { costUsd: 2 }
    const page = await open(hub.thread)
    const used = page.locator(".live-usage")
    await used.getByText("$2.00", { exact: true }).waitFor()
    const report = (costUsd: number, costSource: "program" | "estimated") =>
      hub.push(
        draft("run.usage.updated", {
          usage: { inputTokens: 48_000, outputTokens: 2_000, costUsd, costSource }
        })
      )
    report(0.0421, "program")
    await used.getByText("$0.0421 of $2.00", { exact: true }).waitFor()
    await used.getByText("50,000 tokens", { exact: true }).waitFor()
    report(0.91, "estimated")
    await used.getByText("$0.91 of $2.00 estimated", { exact: true }).waitFor()
    const board = await open("/board")
    await board.locator(".card").getByText("≈ $0.91").waitFor()
    hub.push(draft("run.completed", { text: "Done.", usage: { costUsd: 1.2, costSource: "program" } }))
    await page.locator(".turn-foot").getByText("$1.20 of $2.00", { exact: true }).waitFor()
    await browser.end(page, board)
  })

  it("says why a turn was stopped by its budget, and that the queue is held", async () => {
    hub.budget = { costUsd: 2 }
    hub.queued.push("Then write the tests")
    hub.held = { reason: "failed", code: "budget_exceeded", since: new Date().toISOString() }
    hub.push(
      draft("run.failed", {
        error: {
          code: "budget_exceeded",
          message: "The run's cost budget is used up.",
          details: { reason: "budget_used_up", budget: "costUsd", used: 2.03, limit: 2 }
        },
        usage: { inputTokens: 900_000, outputTokens: 41_000, costUsd: 2.03, costSource: "estimated" }
      })
    )
    for (const [locale, failure, held] of [
      ["en", "The run's cost budget is used up.", "The budget is used up. The queued message is held."],
      ["zh-CN", "此次运行的费用预算已用完。", "预算已用完，排队的 1 条消息暂缓发送。"]
    ] as const) {
      const page = await open(hub.thread, { locale })
      await page.locator(".turn-failure").getByText(failure).waitFor()
      await page
        .locator(".turn-foot")
        .getByText(/^\$2\.03 .*\$2\.00/)
        .waitFor()
      await page.getByText(held).waitFor()
      assert.deepStrictEqual(await seriousOf(page), [])
      await page.context().close()
    }
  })

  it("says of a cost that can't be counted which limits can", async () => {
    hub.push(
      draft("run.failed", {
        error: {
          code: "budget_exceeded",
          message: "The price of qwen3-coder is not known, so the run's cost budget can't be counted.",
          details: { reason: "cost_unknown", budget: "costUsd", model: "qwen3-coder" }
        }
      })
    )
    const page = await open(hub.thread, { locale: "zh-CN" })
    await page
      .locator(".turn-failure")
      .getByText(/qwen3-coder 的价格未知/)
      .waitFor()
    await page.getByText("请在消息框下方设置其他限额后重试。").waitFor()
    await browser.end(page)
  })
})

describe.skipIf(!hasChromium)("limits of a real Hub in the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))

  it("counts runs, stops a turn at its budget, and refuses the next one when the limit is used up", async () => {
    const { owner, projectId } = joined
    const session = await sessionWithAgent(joined, "Spend")
    await sendMessage(joined, session, "/use 1000 0.75\n/say spent")
    await turnWith(joined, session, ({ state }) => state === "completed")
    const page = await browser.page(joined.front.url, token, `/usage?projectId=${projectId}&by=agent`)
    await page
      .getByRole("table")
      .getByRole("row", { name: /Scripted/ })
      .getByText("$0.75")
      .waitFor()

    const limits = page.getByRole("region", { name: "Limits per day" })
    await limits.getByText("This project has no limits.").waitFor()
    await limits.getByRole("button", { name: "Set a limit" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Cost per day, US dollars").fill("2")
    await dialog.getByLabel("Cost, US dollars", { exact: true }).fill("1")
    await dialog.getByRole("button", { name: "Save" }).click()
    await limits.getByText("$0.75 of $2.00 used", { exact: true }).waitFor()
    const stored = (await owner.ask<ProjectLimits>("GET", `/client/projects/${projectId}/limits`)).body
    assert.deepStrictEqual(
      stored.limits.map(({ costUsd, subject }) => [subject, costUsd]),
      [["everyone", 2]]
    )
    const project = (await owner.ask<Project>("GET", `/client/projects/${projectId}`)).body
    assert.deepStrictEqual(project.runBudget, { costUsd: 1 })

    // The run has what the project's budget gives it, and stops there.
    await page.goto(`${joined.front.url}/sessions/${session.id}`)
    const field = page.locator(".composer textarea")
    await field.fill("/use 1000 1.5\n/sleep 60000")
    await field.press("Enter")
    await page.locator(".turn-failure").getByText("The run's cost budget is used up.").waitFor()
    await page.locator(".turn-foot").last().getByText("$1.50 of $1.00").waitFor()

    await field.fill("/say never")
    await field.press("Enter")
    await page
      .getByText("Not sent: The project's limit for today is used up, or reserved by runs in progress.")
      .waitFor()
    await page.getByRole("link", { name: "Show limits" }).click()
    await limits.getByText("$2.25 of $2.00 used").waitFor()
    await limits.getByText("Used up", { exact: true }).waitFor()
    await page.getByRole("link", { name: "Usage A limit is used up" }).waitFor()

    const download = page.waitForEvent("download")
    await page.getByRole("link", { name: "Download CSV" }).click()
    const csv = readFileSync(await (await download).path(), "utf8")
    assert.match(csv, /^model,runs,liveRuns,inputTokens/)
    assert.match(csv, /,2\.25,0,0\r\n$/)
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })
})
