/** Failures of the connection to a holder. The holder itself does not load them, and no Effect with them. */
import { Data } from "effect"

/** The holder cannot be started or reached, or refused a request. */
export class HolderFailed extends Data.TaggedError("HolderFailed")<{
  readonly message: string
  /** Code of the operating system. */
  readonly code?: string | undefined
}> {}

/** A holder of another format has runs of this home. */
export class HolderIncompatible extends Data.TaggedError("HolderIncompatible")<{
  readonly holderFormat: number
  readonly edgeFormat: number
  /** Version of the Edge that started the holder. */
  readonly holderBuild: string
  readonly holderPid: number
}> {
  override get message(): string {
    return `The runs of this home are held in format ${this.holderFormat} by version ${this.holderBuild}, and this version has format ${this.edgeFormat}.`
  }
}
