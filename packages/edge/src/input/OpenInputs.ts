/** Open questions of a live run: the runtime's key, and the key pair for secret answers. */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { SealingKeyPair } from "@corral/domain/input/Seal"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { Deferred } from "effect"
import { type PendingRequest, PendingRequests } from "../approval/PendingRequests.ts"

export interface OpenInput extends PendingRequest<InputRequestId, InputResponse> {
  readonly key: string
  /** Present if a question is secret. */
  readonly sealing: SealingKeyPair | undefined
}

export class OpenInputs extends PendingRequests<InputRequestId, InputResponse, OpenInput> {
  add(request: Omit<OpenInput, "answer">): void {
    this.put({ ...request, answer: Deferred.makeUnsafe<InputResponse>() })
  }
}
