/** Turns of the scripted agent, and what it does in the background. */
import { send } from "./Host.mjs"

/** Whether the turn has ended, and no further one has begun. */
export const turn = { hasEnded: false }

export const endTurn = async (done) => {
  turn.hasEnded = true
  await send({ type: "done", ...done })
}

/** `text`: the result of the turn in progress, which ends without a pause. */
export const startTurn = async (text) => {
  turn.hasEnded = false
  await send({ type: "turn", ...(text === undefined ? {} : { ended: text }) })
}

const works = new Map()

export const work = (text) => {
  const [, id = "", kind = "command", title = ""] = /^(\S+)\s+(\S+)\s*(.*)$/s.exec(text) ?? []
  works.set(id, { id, kind, title })
  return send({ type: "work", id, kind, title, state: "running" })
}

export const worked = (text) => {
  const [id, state = "completed", continues] = text.split(/\s+/)
  const { kind = "command", title = "" } = works.get(id) ?? {}
  return send({ type: "work", id, kind, title, state, continues: continues === "continues" })
}
