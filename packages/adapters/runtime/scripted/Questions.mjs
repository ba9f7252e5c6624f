/** What the scripted agent asks a person. It never chooses by itself: without an answer it says so. */
import { writeFile } from "node:fs/promises"
import { agent, next, say } from "./Agent.mjs"
import { cancelled, host, inputArrives, responseTo, send } from "./Host.mjs"
import { endTurn, startTurn } from "./Turns.mjs"

/** Asks, and waits for the response. */
const request = async (asked) => {
  const id = next("q")
  const response = responseTo(id)
  try {
    await send({ type: "question", id, request: asked })
    return await response
  } catch (cause) {
    await send({ type: "unasked", id, state: "withdrawn" })
    throw cause
  }
}

const choices = (text) => {
  const [title = "", ...options] = text.split("|").map((part) => part.trim())
  const multiple = options.some((option) => option.startsWith("?"))
  const named = options.map((option, at) => ({ id: String(at + 1), label: option.replace(/^\?\s*/, "") }))
  return {
    kind: "question",
    title,
    questions: [
      options.length === 0
        ? { id: "1", text: title, kind: "text" }
        : {
            id: "1",
            text: title,
            kind: "choice",
            options: named,
            allowsOther: true,
            ...(multiple ? { multiple } : {})
          }
    ]
  }
}

const wordsOf = (response) =>
  response.unanswered === undefined
    ? `answered ${JSON.stringify(response.answers)}${response.comment === undefined ? "" : ` (${response.comment})`}`
    : `unanswered: ${response.unanswered}`

export const form = async (text) => say(wordsOf(await request(JSON.parse(text))))
export const question = async (text) => say(wordsOf(await request(choices(text))))

export const secret = async (text) => {
  const asked = { kind: "question", title: text, questions: [{ id: "1", text, kind: "text", secret: true }] }
  const response = await request(asked)
  if (response.unanswered !== undefined) return say(wordsOf(response))
  await writeFile("secret.txt", response.answers["1"])
  return say(`received ${[...response.answers["1"]].length} characters: ${response.answers["1"]}`)
}

export const plan = async (text) => {
  const response = await request({ kind: "plan", title: "A plan", plan: text.replaceAll("\\n", "\n") })
  const comment = response.comment === undefined ? "" : ` (${response.comment})`
  if (response.unanswered !== undefined) return say(wordsOf(response))
  if (!response.approved) return say(`returned${comment}`)
  if (response.mode !== undefined) agent.mode = response.mode
  await say(`approved${response.mode === undefined ? "" : ` for ${response.mode}`}${comment}`)
  // The host ends the run: the work follows in the next turn.
  if (response.endsRun === true) await new Promise((_, reject) => cancelled.addEventListener("abort", reject))
}

/** Asks, and goes on without waiting. */
export const leave = async (text, state) => {
  const id = next("q")
  await send({ type: "question", id, request: choices(text) })
  await send({ type: "unasked", id, state })
  await say(`went on: ${state}`)
}

/** Ends the turn with a question. The answer begins the next turn; without one the turn was the last. */
export const askNext = async (text) => {
  const id = next("q")
  const response = responseTo(id)
  await send({ type: "question", id, request: { ...choices(text), startsTurn: true } })
  await endTurn({ status: "completed", text: agent.lastText })
  const answered = await Promise.race([response, inputArrives()])
  if (answered === undefined) {
    // A message came instead: it is the next turn.
    if (!host.left) await send({ type: "unasked", id, state: "withdrawn" })
    return
  }
  if (answered.unanswered !== undefined) return
  await startTurn()
  await say(wordsOf(answered))
}
