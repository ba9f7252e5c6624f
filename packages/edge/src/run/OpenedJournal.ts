/**
 * Journal of an adopted run with its sealed answers opened, as the runtime received them.
 *
 * Does not: replay an answer whose key is lost. Its run cannot be adopted.
 */
import type { InputRequest } from "@corral/domain/input/InputRequest"
import { Effect } from "effect"
import { findInput } from "../input/Inputs.ts"
import { openedAnswers, secretTexts } from "../input/SecretAnswers.ts"
import type { JournaledCall, StoredJournal } from "../journal/RunJournal.ts"
import type { Store } from "../store/Store.ts"

export interface OpenedJournal {
  readonly journal: StoredJournal
  /** Secret texts by the call that answers with them. */
  readonly secrets: ReadonlyMap<JournaledCall, ReadonlyArray<string>>
}

/** `keys`: private keys by the ids of their questions, as the holder kept them. Fails with a sentence. */
export const openedJournal = Effect.fnUntraced(function* (
  store: Store["Service"],
  journal: StoredJournal,
  keys: Readonly<Record<string, string>> = {}
): Effect.fn.Return<OpenedJournal, string> {
  const secrets = new Map<JournaledCall, ReadonlyArray<string>>()
  const calls: Array<JournaledCall> = []
  for (const call of journal.calls) {
    const input = call._tag === "Respond" ? findInput(store, call.inputId) : undefined
    const opened = input === undefined ? call : yield* openedCall(call, input, keys[input.id])
    calls.push(opened)
    if (input !== undefined && opened._tag === "Respond" && opened.response._tag === "Answered")
      secrets.set(opened, secretTexts(input, opened.response.answers))
  }
  return { journal: { ...journal, calls }, secrets }
})

const openedCall = Effect.fnUntraced(function* (
  call: JournaledCall,
  input: InputRequest,
  privateKey: string | undefined
): Effect.fn.Return<JournaledCall, string> {
  if (call._tag !== "Respond" || call.response._tag !== "Answered") return call
  const { response } = call
  const { sealingKey: publicKey } = input
  const sealing = publicKey === undefined || privateKey === undefined ? undefined : { publicKey, privateKey }
  const { answers, unopened } = yield* Effect.promise(() =>
    openedAnswers(sealing, input.id, input, response.answers)
  )
  if (unopened.length > 0) return yield* Effect.fail("The key of a secret answer is lost.")
  return { ...call, response: { ...response, answers } }
})
