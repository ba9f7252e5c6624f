/** Answers of a person in a real browser, as they reach a program: a real Hub, a real Edge, and the scripted runtime. */
import { assert, describe, it } from "@effect/vitest"
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { Session } from "@corral/domain/session/Session"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import type { Page } from "playwright-core"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

describe.skipIf(!hasChromium)("answers from the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened), { edge: { grants: ["full_access"] } })

  /** A session with a turn that waits for an answer, and its thread. */
  const waitingFor = async (script: string, mode = "ask"): Promise<readonly [Session, Page]> => {
    const session = await sessionWithAgent(joined, script.slice(0, 40), mode)
    await sendMessage(joined, session, script)
    await turnWith(joined, session, ({ pendingInputs = [] }) => pendingInputs.length > 0)
    const page = await browser.page(joined.front.url, token, `/sessions/${session.id}`, {
      viewport: { width: 1_280, height: 800 }
    })
    await page.locator(".input-card").waitFor()
    return [session, page]
  }
  const card = (page: Page) => page.locator(".input-card")
  const answer = (page: Page) => card(page).getByRole("button", { name: "Answer", exact: true }).click()
  const inputsOf = async (runId: string): Promise<ReadonlyArray<HubInput>> =>
    (
      await joined.owner.ask<{ readonly items: ReadonlyArray<HubInput> }>(
        "GET",
        `/client/inputs?runId=${runId}`
      )
    ).body.items

  it.each(["ask", "full_access"])("reaches the program as the chosen option in mode %s", async (mode) => {
    const [session, page] = await waitingFor("/question Which colour? | Red | Blue", mode)
    await card(page).getByText("Blue", { exact: true }).click()
    await answer(page)
    await page.locator(".record").getByText("Answered by you in the console").waitFor()
    const run = await turnWith(joined, session, ({ state }) => state === "completed")
    // The program offers its options as 1 and 2.
    assert.strictEqual(run.resultText, 'answered {"1":"2"}')
    const [input] = await inputsOf(run.id)
    assert.strictEqual(input?.state, "answered")
    assert.strictEqual(input?.answeredBy, joined.owner.userId)
    assert.strictEqual(input?.origin, "console")
    await browser.end(page)
  })

  it("reaches the program as several options with a text", async () => {
    const form = JSON.stringify({
      kind: "question",
      title: "Channels",
      questions: [
        {
          id: "where",
          text: "Where?",
          kind: "choice",
          multiple: true,
          allowsOther: true,
          options: [
            { id: "a", label: "Changelog" },
            { id: "b", label: "Newsletter" },
            { id: "c", label: "Chat" }
          ]
        },
        { id: "lines", text: "How many lines?", kind: "number", integer: true }
      ]
    })
    const [session, page] = await waitingFor(`/form ${form}`)
    await page.getByLabel("Chat").check()
    await page.getByLabel("Changelog").check()
    await page.getByLabel("Something else").check()
    await page.getByLabel("Your own answer: Where?").fill("The notice board")
    await page.getByLabel("How many lines?").fill("12")
    await answer(page)
    const run = await turnWith(joined, session, ({ state }) => state === "completed")
    const [input] = await inputsOf(run.id)
    assert.deepStrictEqual(input?.answers, { where: ["a", "c", { other: "The notice board" }], lines: 12 })
    await browser.end(page)
  })

  it("reaches the program as a secret that the Hub never has", async () => {
    const [session, page] = await waitingFor("/secret What is the key?", "full_access")
    const sent: Array<string> = []
    page.on("request", (request) => sent.push(request.postData() ?? ""))
    await page.locator(".input-card input[type=password]").fill("secret-of-the-shop")
    await answer(page)
    const run = await turnWith(joined, session, ({ state }) => state === "completed")
    await until(async () => sent.some((body) => body.includes("sealed")) || undefined, "the sealed answer")
    assert.notInclude(sent.join("\n"), "secret-of-the-shop")
    assert.notInclude(JSON.stringify(await inputsOf(run.id)), "secret-of-the-shop")
    await browser.end(page)
  })

  it("reaches the program without an option if the person skips", async () => {
    const [session, page] = await waitingFor("/question Which colour? | Red | Blue", "full_access")
    await card(page).getByRole("button", { name: "Skip" }).click()
    const run = await turnWith(joined, session, ({ state }) => state === "completed")
    assert.strictEqual(run.resultText, "unanswered: The user did not answer.")
    await browser.end(page)
  })

  it("carries out an approved plan in a new run with the chosen mode", async () => {
    const [session, page] = await waitingFor("/plan # Plan\\n\\n1. Write notes.txt", "plan")
    await page.getByLabel("Carry out in mode").selectOption("auto_edit")
    await card(page).getByRole("button", { name: "Approve plan" }).click()
    const next = await turnWith(joined, session, ({ mode }) => mode === "auto_edit")
    assert.strictEqual(next.sessionId, session.id)
    await browser.end(page)
  })

  it("returns a plan with the comments on its lines", async () => {
    const [session, page] = await waitingFor("/plan # Plan\\n\\n1. Write notes.txt\\n2. Publish it", "ask")
    await card(page).getByText("Publish it").click()
    await page.getByLabel("Comment on line 4").fill("Not yet.")
    await page.getByRole("button", { name: "Add comment" }).click()
    await card(page).getByRole("button", { name: "Send back with 1 comment" }).click()
    const run = await turnWith(joined, session, ({ state }) => state === "completed")
    const [input] = await inputsOf(run.id)
    assert.strictEqual(input?.comment, "> 2. Publish it\n\nNot yet.")
    await browser.end(page)
  })

  it("counts a question as what needs the person, until another answers it", async () => {
    const [session, page] = await waitingFor("/question Which colour? | Red | Blue")
    const other = await browser.page(joined.front.url, token, "/", {
      viewport: { width: 1_280, height: 800 }
    })
    const row = other.getByRole("list", { name: "Needs you" }).getByText("Which colour?").first()
    await row.waitFor()
    const run = await turnWith(joined, session, () => true)
    const [input] = await inputsOf(run.id)
    const option = input?.questions?.[0]?.options?.[0]?.id ?? ""
    const question = input?.questions?.[0]?.id ?? ""
    const sent = await joined.owner.ask("POST", `/client/inputs/${input?.id}/answer`, {
      body: { answers: { [question]: option } }
    })
    assert.strictEqual(sent.status, 200, sent.text)
    await row.waitFor({ state: "detached" })
    await card(page).waitFor({ state: "detached" })
    await browser.end(page, other)
  })

  it("finishes a run that only works in the background", async () => {
    const session = await sessionWithAgent(joined, "Background", "full_access")
    await sendMessage(joined, session, "/work w1 command npm run dev\n/say The page runs.\n/end-turn\n/wait")
    await turnWith(joined, session, ({ turn }) => turn === "idle")
    const page = await browser.page(joined.front.url, token, `/sessions/${session.id}`, {
      viewport: { width: 1_280, height: 800 }
    })
    const work = page.locator(".background")
    await work.getByText("Working in the background: 1").waitFor()
    await work.getByRole("button", { name: "Finish", exact: true }).click()
    await turnWith(joined, session, ({ state }) => state === "completed")
    await page.locator(".thread-state-completed").waitFor()
    await browser.end(page)
  })

  it("shows an image that a tool returned", async () => {
    const session = await sessionWithAgent(joined, "Image", "full_access")
    await sendMessage(joined, session, "/image\n/wait")
    const page = await browser.page(joined.front.url, token, `/sessions/${session.id}`, {
      viewport: { width: 1_280, height: 800 }
    })
    const image = page.locator(".result-image img")
    await image.waitFor()
    await until(() => image.evaluate((node: HTMLImageElement) => node.naturalWidth > 0), "the decoded image")
    await browser.end(page)
  })
})
