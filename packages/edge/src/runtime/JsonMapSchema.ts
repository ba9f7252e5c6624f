/**
 * Schema of the map of a runner that prints JSON lines, in `edge.config.json`. `JsonMap` documents its parts.
 */
import { Schema } from "effect"

/** `data.item.text`: names of fields, from the outermost inwards. A number is an index of a list. */
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
  /** The field with the type of a line. For several fields, their values are joined with `/`. */
  type: Schema.Union([FieldPath, Schema.NonEmptyArray(FieldPath)]),
  /** A part of a message. The message ends with the next line of another meaning. */
  delta: meaning({ text: FieldPath }),
  /** A part of the model's thinking. */
  reasoning: meaning({ text: FieldPath }),
  /** A whole message. After parts with the same text, it ends them. */
  message: meaning({ text: FieldPath }),
  toolCall: meaning({ id: FieldPath, name: FieldPath, input: optionalPath }),
  /** `failed`: the call failed if this field has a value other than false or empty, or one of the values of `failedWhen`. */
  toolResult: meaning({
    id: FieldPath,
    output: optionalPath,
    exitCode: optionalPath,
    failed: optionalPath,
    failedWhen: Schema.optionalKey(Schema.NonEmptyArray(Schema.String))
  }),
  /** `change`: field with `created`, `modified` or `deleted`; `modified` by default. `patch`: field with a unified diff of the file. */
  fileChange: meaning({ path: FieldPath, change: optionalPath, patch: optionalPath }),
  /** Usage of the run so far. */
  usage: meaning({ inputTokens: optionalPath, outputTokens: optionalPath, costUsd: optionalPath }),
  /** Success of the run. Without such a type, exit code 0 is success. */
  completed: meaning({ text: optionalPath }),
  failed: meaning({ message: optionalPath }),
  /** Types that are ignored and not counted as unknown. */
  ignore: Schema.optionalKey(Schema.Array(Schema.String))
})
