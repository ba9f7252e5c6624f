/**
 * Change feed of a Hub, across lost connections: hints about devices, approvals, questions, change sets, tasks, runs, messages and limits that the caller
 * can see, and about the caller's preferences.
 *
 * Each connection starts with the current state of devices and with pending approvals and questions and open change sets. Changes of tasks, runs and messages during a lost connection are
 * not sent: read what is shown again when `onConnection` reports `live`.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { eventsOfBody } from "./EventBody.ts"
import { Reconnection, type ReconnectionOptions } from "./Reconnection.ts"

const kinds: { readonly [K in ChangeHint["kind"]]: true } = {
  device: true,
  approval: true,
  input: true,
  changes: true,
  task: true,
  run: true,
  message: true,
  limit: true,
  preferences: true
}

/** Hints of later versions are ignored. */
const hintOf = (data: string): ReadonlyArray<ChangeHint> => {
  const hint: { readonly kind?: unknown } | null = JSON.parse(data)
  return typeof hint?.kind === "string" && Object.hasOwn(kinds, hint.kind) ? [hint as ChangeHint] : []
}

/** Hints in the groups in which they arrive. Ends when the caller stops. */
export async function* changeHintBatches(
  open: (signal: AbortSignal | undefined) => Promise<Response>,
  options: ReconnectionOptions
): AsyncGenerator<ReadonlyArray<ChangeHint>> {
  const reconnection = new Reconnection(options)
  for (;;) {
    let error: unknown
    try {
      const { body } = await open(options.signal)
      reconnection.connected()
      for await (const events of body === null ? [] : eventsOfBody(body, () => reconnection.markHeard())) {
        const hints = events.flatMap(({ data }) => hintOf(data))
        if (hints.length > 0) yield hints
      }
    } catch (cause) {
      error = cause
    }
    await reconnection.next(error)
  }
}
