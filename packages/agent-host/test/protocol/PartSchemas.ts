/**
 * Schemas of messages, tool calls, questions and other parts of a turn that the host writes. The host itself never decodes them; tests compare its messages and the protocol's
 * stored messages with them.
 *
 * Guarantees: the compiler refuses a schema whose type differs from that of the product.
 */
import { Schema } from "effect"
import type * as State from "../../src/protocol/State.ts"

/** The schema, if its values are exactly those of `T`. */
export const of =
  <T>() =>
  <S extends Schema.Codec<T, unknown>>(schema: S & ([T] extends [S["Type"]] ? unknown : never)): S =>
    schema

const { Array: list, Boolean: flag, Finite: number, String: text, Unknown: unknown } = Schema
const absent = Schema.optionalKey
/** Absent, or without a value in the memory of the reducers. */
const none = Schema.optional
const meta = Schema.Record(text, unknown)

export const StringOrMarkdown = of<State.StringOrMarkdown>()(
  Schema.Union([text, Schema.Struct({ markdown: text })])
)
export const ErrorInfo = of<State.ErrorInfo>()(
  Schema.Struct({ errorType: text, message: text, _meta: absent(meta) })
)
export const Message = of<State.Message>()(
  Schema.Struct({
    text,
    origin: Schema.Struct({ kind: text }),
    attachments: absent(list(unknown)),
    model: absent(Schema.Struct({ id: text, config: absent(meta) })),
    _meta: absent(meta)
  })
)
export const UsageInfo = of<State.UsageInfo>()(
  Schema.Struct({
    inputTokens: absent(number),
    outputTokens: absent(number),
    model: absent(text),
    cacheReadTokens: absent(number),
    _meta: absent(meta)
  })
)

export const ConfirmationOption = of<State.ConfirmationOption>()(
  Schema.Struct({
    id: text,
    label: text,
    kind: Schema.Literals(["approve", "deny"]),
    group: absent(number)
  })
)
export const ToolResultContent = of<State.ToolResultContent>()(
  Schema.Union([
    Schema.Struct({ type: Schema.Literal("text"), text }),
    Schema.Struct({ type: Schema.Literal("embeddedResource"), data: text, contentType: text }),
    Schema.StructWithRest(Schema.Struct({ type: Schema.Literal("fileEdit") }), [meta]),
    Schema.Struct({ type: Schema.Literal("subagent"), resource: text, title: text })
  ])
)
const failure = Schema.Struct({ message: text, code: absent(text) })
export const ToolCallResult = of<State.ToolCallResult>()(
  Schema.Struct({
    success: flag,
    pastTenseMessage: StringOrMarkdown,
    content: absent(list(ToolResultContent)),
    structuredContent: absent(meta),
    error: absent(failure)
  })
)
export const ConfirmationReason = Schema.Literals(["not-needed", "user-action", "setting"])
export const contributor = Schema.Struct({ kind: text, clientId: absent(text) })

const ofCall = {
  toolCallId: text,
  toolName: text,
  displayName: text,
  intention: none(text),
  contributor: none(contributor),
  _meta: none(meta)
}
const parameters = { invocationMessage: StringOrMarkdown, toolInput: none(text) }
const afterConfirmation = { confirmed: ConfirmationReason, selectedOption: absent(ConfirmationOption) }
const status = <Name extends State.ToolCall["status"]>(name: Name) => ({ status: Schema.Literal(name) })
export const ToolCall = of<State.ToolCall>()(
  Schema.Union([
    Schema.Struct({
      ...status("streaming"),
      ...ofCall,
      partialInput: absent(text),
      invocationMessage: none(StringOrMarkdown)
    }),
    Schema.Struct({
      ...status("pending-confirmation"),
      ...ofCall,
      ...parameters,
      confirmationTitle: none(StringOrMarkdown),
      riskAssessment: absent(unknown),
      edits: absent(unknown),
      editable: none(flag),
      options: absent(list(ConfirmationOption))
    }),
    Schema.Struct({
      ...status("running"),
      ...ofCall,
      ...parameters,
      ...afterConfirmation,
      content: absent(list(ToolResultContent))
    }),
    Schema.Struct({
      ...status("auth-required"),
      ...ofCall,
      ...parameters,
      ...afterConfirmation,
      auth: unknown,
      content: absent(list(ToolResultContent))
    }),
    Schema.Struct({
      ...status("pending-result-confirmation"),
      ...ofCall,
      ...parameters,
      ...afterConfirmation,
      ...ToolCallResult.fields
    }),
    Schema.Struct({
      ...status("completed"),
      ...ofCall,
      ...parameters,
      ...afterConfirmation,
      success: flag,
      pastTenseMessage: StringOrMarkdown,
      content: none(list(ToolResultContent)),
      structuredContent: none(meta),
      error: none(failure)
    }),
    Schema.Struct({
      ...status("cancelled"),
      ...ofCall,
      ...parameters,
      reason: Schema.Literals(["denied", "skipped", "result-denied"]),
      reasonMessage: none(StringOrMarkdown),
      userSuggestion: none(Message),
      selectedOption: absent(ConfirmationOption)
    })
  ])
)

const ofQuestion = { id: text, title: absent(text), message: text, required: absent(flag) }
export const InputQuestion = of<State.InputQuestion>()(
  Schema.Union([
    Schema.Struct({ ...ofQuestion, kind: Schema.Literal("text"), format: absent(text) }),
    Schema.Struct({
      ...ofQuestion,
      kind: Schema.Literals(["number", "integer"]),
      min: absent(number),
      max: absent(number)
    }),
    Schema.Struct({
      ...ofQuestion,
      kind: Schema.Literals(["single-select", "multi-select"]),
      options: list(Schema.Struct({ id: text, label: text, description: absent(text) })),
      allowFreeformInput: absent(flag)
    })
  ])
)
const freeformValues = absent(list(text))
const AnswerState = of<State.AnswerState>()(
  Schema.Union([
    Schema.Struct({
      state: Schema.Literals(["draft", "submitted"]),
      value: Schema.Union([
        Schema.Struct({ kind: Schema.Literal("text"), value: text }),
        Schema.Struct({ kind: Schema.Literal("number"), value: number }),
        Schema.Struct({ kind: Schema.Literal("boolean"), value: flag }),
        Schema.Struct({ kind: Schema.Literal("selected"), value: text, freeformValues }),
        Schema.Struct({ kind: Schema.Literal("selected-many"), value: list(text), freeformValues })
      ])
    }),
    Schema.Struct({ state: Schema.Literal("skipped"), freeformValues })
  ])
)
export const answers = Schema.Record(text, AnswerState)
export const InputRequestState = of<State.InputRequestState>()(
  Schema.Struct({
    id: text,
    message: absent(text),
    url: absent(text),
    questions: absent(list(InputQuestion)),
    answers: none(answers)
  })
)
export const InputResponse = Schema.Literals(["accept", "decline", "cancel"])

export const ErrorPart = of<State.ErrorPart>()(
  Schema.Struct({ kind: Schema.Literal("error"), error: ErrorInfo, resumable: absent(flag) })
)
export const ResponsePart = of<State.ResponsePart>()(
  Schema.Union([
    Schema.Struct({ kind: Schema.Literal("markdown"), id: text, content: text }),
    Schema.Struct({ kind: Schema.Literal("reasoning"), id: text, content: text }),
    Schema.Struct({ kind: Schema.Literal("toolCall"), toolCall: ToolCall }),
    Schema.Struct({
      kind: Schema.Literal("systemNotification"),
      content: StringOrMarkdown,
      _meta: absent(meta)
    }),
    Schema.Struct({
      kind: Schema.Literal("inputRequest"),
      request: InputRequestState,
      response: absent(InputResponse)
    }),
    Schema.Struct({ kind: Schema.Literal("contentRef"), uri: text }),
    ErrorPart
  ])
)
