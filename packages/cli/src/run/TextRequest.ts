/** Request that sends a text to a run, the same at an Edge and at a Hub, with a key of its request only. */
import type { RunId } from "@corral/domain/identity/Ids"
import { randomUUID } from "node:crypto"

export const textRequest = (id: RunId, text: string) => ({
  params: { id },
  headers: { "idempotency-key": randomUUID() },
  payload: { text }
})
