/**
 * The map of a runner that prints JSON lines, as it may stand in `edge.config.json`. What its parts mean is `JsonMap`'s.
 */
import { Schema } from "effect"

/** `data.item.text`: names of fields from the line inwards; a number is a place in a list. */
const FieldPath = Schema.String.check(
  Schema.isMaxLength(200),
  Schema.isPattern(/^[^.\s]+(\.[^.\s]+)*$/, { expected: "names of fields with dots between them" })
)
const optionalPath = Schema.optionalKey(FieldPath)

/** Values of the type field. */
const when = Schema.NonEmptyArray(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)))

const meaning = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.optionalKey(Schema.Struct({ when, ...fields }))

export const JsonMapEntry = Schema.Struct({
  /** The field that says what a line is; of several fields, their values with `/` between them. */
  type: Schema.Union([FieldPath, Schema.NonEmptyArray(FieldPath)]),
  /** A piece of a message; the message ends with the next line that means something else. */
  delta: meaning({ text: FieldPath }),
  /** A piece of what the model thinks. */
  reasoning: meaning({ text: FieldPath }),
  /** A whole message. After pieces that say the same it is their end. */
  message: meaning({ text: FieldPath }),
  toolCall: meaning({ id: FieldPath, name: FieldPath, input: optionalPath }),
  /** `failed`: the call failed where this holds something that is neither false nor empty. */
  toolResult: meaning({ id: FieldPath, output: optionalPath, exitCode: optionalPath, failed: optionalPath }),
  /** `change`: where `created`, `modified` or `deleted` stands; `modified` where it does not. */
  fileChange: meaning({ path: FieldPath, change: optionalPath }),
  /** What the run has used so far. */
  usage: meaning({ inputTokens: optionalPath, outputTokens: optionalPath, costUsd: optionalPath }),
  /** The run has succeeded. Where no type is named, exit code 0 says so. */
  completed: meaning({ text: optionalPath }),
  failed: meaning({ message: optionalPath }),
  /** Types that mean nothing, and are not counted as unknown. */
  ignore: Schema.optionalKey(Schema.Array(Schema.String))
})
