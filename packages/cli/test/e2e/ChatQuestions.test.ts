/** Questions in `corral chat`, with an Edge alone: numbers, texts that are offered first, secrets, plans and background work. */
import { hasTerminals } from "@corral/testing/process/TerminalProgram"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Corral } from "./Corral.ts"

const corral = new Corral()
beforeAll(async () => {
  await corral.up()
})
afterAll(() => corral.close())

const open = async (...flags: ReadonlyArray<string>) => {
  const chat = corral.inTerminal(100, "chat", "--agent", "scripted", ...flags)
  await chat.shows(/^ready · /m)
  return chat
}
const leave = async (chat: Awaited<ReturnType<typeof open>>) => {
  chat.enter("/quit")
  assert.strictEqual(await chat.ended, 0, chat.screen)
}
/** Number of answers that came too early. */
const early = (screen: string): number =>
  screen.replaceAll("\n", " ").split("typed before the question appeared").length

/** Answers the question. An answer that comes too early has no effect. */
const answer = async (chat: Awaited<ReturnType<typeof open>>, line: string, outcome: RegExp) => {
  while (!outcome.test(chat.screen)) {
    const count = early(chat.screen)
    chat.enter(line)
    await chat.shows((screen) => outcome.test(screen) || early(screen) > count)
  }
}

describe.skipIf(!hasTerminals)("a question in corral chat", () => {
  it("is answered by a number, or skipped", async () => {
    const chat = await open()
    chat.enter("//question Which colour? | Red | Blue")
    await chat.shows(/^needs your answer · /m)
    await chat.shows(/^Number from 1 to 3 · \/skip · or write a text$/m)
    await answer(chat, "2", /^answered by local in a terminal: Blue$/m)
    await chat.shows(/^ready · /m)
    chat.enter("//question Again? | Yes")
    await chat.shows(/^needs your answer · /m)
    chat.enter("/skip")
    await chat.shows(/^skipped by local in a terminal$/m)
    await leave(chat)
  })

  it("offers an ordinary text as the answer first", async () => {
    const chat = await open()
    chat.enter("//question What is its name?")
    await chat.shows(/^needs your answer · /m)
    chat.enter("Corral")
    await chat.shows(/^Answer the question with this text\? y answer with it · n send it as a message$/m)
    await answer(chat, "y", /^answered by local in a terminal: Corral$/m)
    await leave(chat)
  })

  it("hides a secret", async () => {
    const chat = await open()
    chat.enter("//secret Token?")
    await chat.shows(/^Secret: \/answer, then type it hidden · \/skip$/m)
    chat.enter("/answer")
    await chat.shows(/^secret> /m)
    chat.enter("hidden-word")
    await chat.shows(/^answered by local in a terminal: \(hidden\)$/m)
    assert.notInclude(chat.raw, "hidden-word")
    await leave(chat)
  })

  it("approves a plan, and the next run carries it out", async () => {
    const chat = await open("--mode", "plan", "--budget-turns", "9")
    chat.enter("//plan 1. Read")
    await chat.shows(/^Approve the plan\? y \[MODE\]/m)
    await answer(chat, "y ask", /^plan approved, to work in ask by local in a terminal$/m)
    await chat.shows(/^› The plan was approved\. Carry it out\.$/m)
    const [next] = (await corral.run("runs", "--json", "--limit", "1")).out.map((line) => JSON.parse(line))
    assert.deepStrictEqual([next.mode, next.budget], ["ask", { turns: 9 }])
    await chat.shows(/^Allow\? y yes/m)
    await answer(chat, "n", /^denied by /m)
    await leave(chat)
  })

  it("delivers a message to a run that works in the background, and finishes it", async () => {
    const chat = await open()
    chat.enter("//work dev command npm run dev\\")
    chat.enter("/say started")
    await chat.shows(/^started$/m)
    await chat.shows(/^working in the background: 1 \(npm run dev\) · \/finish · /m)
    chat.enter("//say again")
    await chat.shows(/^again$/m)
    await chat.shows(/^working in the background: 1 \(npm run dev\)/m)
    chat.enter("/finish")
    await chat.shows(/^finished; stopped: npm run dev$/m)
    const [run] = (await corral.run("runs", "--json", "--limit", "1")).out.map((line) => JSON.parse(line))
    assert.match(run.input.text, /^\/work dev/)
    await leave(chat)
  })
})
