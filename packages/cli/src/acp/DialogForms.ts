/**
 * Approvals as options of a permission request, questions and plans as forms of the Agent Client Protocol, and what the answers decide.
 *
 * Guarantees: nothing is selected in advance. A secret is never in a form, because editors show what is typed.
 *
 * Does not: check answers. The service does.
 */
import type {
  ElicitationContentValue,
  ElicitationPropertySchema,
  ElicitationSchema,
  EnumOption,
  PermissionOption
} from "@agentclientprotocol/sdk"
import type { ApprovalRequest, DecisionScope } from "@corral/domain/approval/Approval"
import { type RunMode, endsWithPlan } from "@corral/domain/approval/RunMode"
import type { AnswerValue, InputAnswer, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { choiceValue } from "../question/ReadAnswer.ts"
import type { DecisionRequest } from "../run/RunServer.ts"

const scopeNames: Readonly<Record<DecisionScope, string>> = {
  once: "Allow once",
  run: "Allow for the run",
  session: "Allow for the session",
  always: "Always allow in this workspace"
}

const scopes: ReadonlyArray<DecisionScope> = ["once", "run", "session", "always"]

interface DecisionOption {
  readonly option: PermissionOption
  readonly decision: DecisionRequest
}

const scopeOptions = (request: ApprovalRequest): ReadonlyArray<DecisionOption> => [
  ...scopes
    .filter((scope) => scope === "once" || request.scopes.includes(scope))
    .map((scope): DecisionOption => ({
      option: {
        optionId: `allow_${scope}`,
        name: scopeNames[scope],
        kind: scope === "once" ? "allow_once" : "allow_always"
      },
      decision: { decision: "allow", scope }
    })),
  { option: { optionId: "deny", name: "Deny", kind: "reject_once" }, decision: { decision: "deny" } },
  {
    option: { optionId: "stop", name: "Deny and stop the run", kind: "reject_once" },
    decision: { decision: "cancel" }
  }
]

/** Options of a permission request for an approval, and what each of them decides. */
export const permissionOptions = (request: ApprovalRequest): Array<PermissionOption> =>
  scopeOptions(request).map(({ option }) => option)

/** `undefined`: the editor chose an option that was not offered. */
export const decisionOf = (request: ApprovalRequest, optionId: string): DecisionRequest | undefined =>
  scopeOptions(request).find(({ option }) => option.optionId === optionId)?.decision

export type FormContent = Readonly<Record<string, ElicitationContentValue>>

const OTHER = " (other)"
const formats = ["email", "uri", "date", "date-time"] as const

const optionsOf = ({ options = [] }: Question): Array<EnumOption> =>
  options.map(({ description, id, label }) => ({
    const: id,
    title: label,
    ...(description === undefined ? {} : { description })
  }))

const propertyOf = (question: Question): ElicitationPropertySchema => {
  const { format, header, integer, kind, max, min, multiple, text } = question
  const about = { title: header ?? text, ...(header === undefined ? {} : { description: text }) }
  const bounds = {
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max })
  }
  switch (kind) {
    case "boolean":
      return { type: "boolean", ...about }
    case "number":
      return { type: integer === true ? "integer" : "number", ...about, ...bounds }
    case "text": {
      const named = formats.find((each) => each === format)
      return { type: "string", ...about, ...(named === undefined ? {} : { format: named }) }
    }
    case "choice":
      return multiple === true
        ? { type: "array", ...about, items: { anyOf: optionsOf(question) } }
        : { type: "string", ...about, oneOf: optionsOf(question) }
  }
}

const otherProperty = ({ header, text }: Question): ElicitationPropertySchema => ({
  type: "string",
  title: `${header ?? text}: something else`
})

const isRequired = ({ allowsOther, required }: Question): boolean =>
  required !== false && allowsOther !== true

/** `undefined`: a form cannot ask this. */
export const questionForm = ({ questions = [] }: RequestedInput): ElicitationSchema | undefined => {
  if (questions.length === 0 || questions.some(({ secret }) => secret === true)) return undefined
  const properties = questions.flatMap((question) => [
    [question.id, propertyOf(question)] as const,
    ...(question.kind === "choice" && question.allowsOther === true
      ? [[`${question.id}${OTHER}`, otherProperty(question)] as const]
      : [])
  ])
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: questions.filter(isRequired).map(({ id }) => id)
  }
}

const answerTo = (question: Question, content: FormContent): AnswerValue | undefined => {
  const value = content[question.id]
  const other = content[`${question.id}${OTHER}`]
  const text = typeof other === "string" && other !== "" ? other : undefined
  if (question.kind !== "choice") return value
  const ids = Array.isArray(value) ? value : typeof value === "string" && value !== "" ? [value] : []
  if (ids.length === 0 && text === undefined) return undefined
  // One choice: the text of the person replaces it.
  return choiceValue(question, text !== undefined && question.multiple !== true ? [] : ids, text)
}

export const formAnswer = ({ questions = [] }: RequestedInput, content: FormContent): InputAnswer => ({
  answers: Object.fromEntries(
    questions.flatMap((question) => {
      const answer = answerTo(question, content)
      return answer === undefined ? [] : [[question.id, answer] as const]
    })
  )
})

/** What a person can decide about a plan, by the id of the option. */
export const planDecisions = (
  mode: RunMode,
  offered: ReadonlyArray<RunMode>
): ReadonlyArray<{ readonly id: string; readonly title: string; readonly answer: InputAnswer }> => {
  const working = offered.filter((each) => !endsWithPlan(each))
  const approvals =
    endsWithPlan(mode) && working.length > 0
      ? working.map((each) => ({
          id: `approve_${each}`,
          title: `Approve, and work in the mode ${each}`,
          answer: { approve: true, mode: each }
        }))
      : [{ id: "approve", title: "Approve", answer: { approve: true } }]
  return [...approvals, { id: "return", title: "Send back", answer: { approve: false } }]
}

export const planForm = (mode: RunMode, offered: ReadonlyArray<RunMode>): ElicitationSchema => ({
  type: "object",
  properties: {
    decision: {
      type: "string",
      title: "Decision",
      oneOf: planDecisions(mode, offered).map(({ id, title }) => ({ const: id, title }))
    },
    comment: { type: "string", title: "Comment for the agent" }
  },
  required: ["decision"]
})

export const planAnswer = (
  mode: RunMode,
  offered: ReadonlyArray<RunMode>,
  { comment, decision }: FormContent
): InputAnswer | undefined => {
  const found = planDecisions(mode, offered).find(({ id }) => id === decision)
  if (found === undefined) return undefined
  return typeof comment === "string" && comment !== "" ? { ...found.answer, comment } : found.answer
}
