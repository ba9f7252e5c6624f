/** Outcome of a Hub command on the wire: its encoded value, or the reason for its refusal. */
import { type CommandName, type CommandOutcome, edgeCommands } from "@corral/domain/link/EdgeCommand"
import { MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { type Failure, PayloadTooLarge } from "@corral/domain/errors/Failures"
import { Effect, Schema } from "effect"

/** Maximum size of an answer, in bytes of JSON. */
export const MAX_ANSWER_BYTES = MAX_FRAME_BYTES / 2

/** Encodes the result of a command. Fails if it is too large to send. */
export const encodeOutcome = (
  name: CommandName,
  value: unknown
): Effect.Effect<CommandOutcome, PayloadTooLarge> =>
  // The value comes from the command's service, so it matches the schema.
  Effect.orDie(Schema.encodeUnknownEffect(edgeCommands[name].success)(value)).pipe(
    Effect.filterOrFail(
      (json) => Buffer.byteLength(JSON.stringify(json)) <= MAX_ANSWER_BYTES,
      () => new PayloadTooLarge({ message: "The answer is too large to be sent." })
    ),
    Effect.map((json) => ({ _tag: "Done", value: json }))
  )

/** Outcome of a refused command. */
export const refusedOutcome = ({
  code,
  details,
  message
}: Pick<Failure, "code" | "message"> & { readonly details?: object | undefined }): CommandOutcome => ({
  _tag: "Refused",
  error: { code, message, ...(details === undefined ? {} : { details: { ...details } }) }
})
