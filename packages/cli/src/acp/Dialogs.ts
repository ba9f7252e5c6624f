/**
 * Dialogs of an editor for the approvals and questions of one session.
 *
 * Guarantees: each of them has one dialog. A decision that is made elsewhere closes the dialog. A dialog that the person closes decides nothing, and
 * is not shown again: it can be decided in another client. No answer is sent that the person did not give.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import { endsWithPlan, type RunMode } from "@corral/domain/approval/RunMode"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId, InputRequestId } from "@corral/domain/identity/Ids"
import type { InputAnswer, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { Effect, type Fiber } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import type { ChatThread } from "../chat/ChatThread.ts"
import { requestLines } from "../question/QuestionLines.ts"
import { approvalLines } from "../run/ApprovalBlock.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { EditorClient, NoAnswer } from "./EditorClient.ts"
import { paragraph, patchDiffs, plainRows, textContent } from "./Content.ts"
import {
  decisionOf,
  formAnswer,
  permissionOptions,
  planAnswer,
  planDecisions,
  planForm,
  questionForm
} from "./DialogForms.ts"
import type { RunUpdates } from "./RunUpdates.ts"

export interface DialogsOptions {
  readonly sessionId: string
  readonly client: EditorClient
  readonly thread: ChatThread
  readonly modes: ReadonlyArray<RunMode>
  readonly pathOf: (path: string) => string
  /** Command that starts this program. */
  readonly invocation: string
  readonly send: (update: SessionUpdate) => void
  /** An approved plan continues in this mode. */
  readonly onPlanMode: (mode: RunMode) => void
  readonly fork: (dialog: Effect.Effect<void>) => Fiber.Fiber<void>
}

/** How often a person can correct a form whose answers the service refused. */
const MAX_CORRECTIONS = 5

/** What a dialog did: an answer, a closed dialog, or an editor that cannot ask this. */
type Outcome<A> = { readonly answer: A } | "closed" | "elsewhere"

export class Dialogs {
  private readonly options: DialogsOptions
  private readonly open = new Map<string, Fiber.Fiber<void>>()

  constructor(options: DialogsOptions) {
    this.options = options
  }

  /** Opens dialogs for what waits now, and closes those of what does not wait any longer. */
  reconcile(runs: Iterable<RunUpdates>): void {
    const waiting = new Set<string>()
    for (const run of runs) {
      for (const [id, request] of run.approvals) {
        waiting.add(id)
        this.begin(id, () => this.decide(run, id as ApprovalId, request)) // ids of events are those of the contract
      }
      for (const [id, request] of run.inputs) {
        waiting.add(id)
        this.begin(id, () => this.answer(run.mode, id as InputRequestId, request)) // the same
      }
    }
    for (const [id, dialog] of this.open) {
      if (waiting.has(id)) continue
      this.open.delete(id)
      dialog.interruptUnsafe()
    }
  }

  private begin(id: string, dialog: () => Effect.Effect<void>): void {
    if (!this.open.has(id)) this.open.set(id, this.options.fork(dialog()))
  }

  private addLine(id: string, text: string): void {
    this.options.send(paragraph(id, text))
  }

  /** Where else it can be decided. */
  private whereToDecide(id: ApprovalId): void {
    const { invocation, thread } = this.options
    this.addLine(
      `${id} where`,
      `Decide in the console, in a chat, or with \`${invocation} approve ${id}${thread.server.named}\`.`
    )
  }

  private whereToAnswer(id: InputRequestId): void {
    const { invocation, thread } = this.options
    this.addLine(
      `${id} where`,
      `Answer in the console, in a chat, or with \`${invocation} answer ${id}${thread.server.named}\`.`
    )
  }

  private decide(run: RunUpdates, id: ApprovalId, request: ApprovalRequest): Effect.Effect<void> {
    const { client, pathOf, sessionId, thread } = this.options
    const callId = run.calls.idOf(run.callOfApproval(id, request))
    const [file, another] = request.files ?? []
    const diffs =
      request.patch !== undefined && file !== undefined && another === undefined
        ? patchDiffs(pathOf(file), request.patch)
        : []
    const response = client.askPermission({
      sessionId,
      toolCall: {
        toolCallId: callId,
        title: escapeLine(request.title),
        status: "pending",
        content: [textContent(plainRows(approvalLines(request))), ...diffs],
        ...(request.input === undefined ? {} : { rawInput: request.input })
      },
      options: permissionOptions(request)
    })
    return response.pipe(
      Effect.map(({ outcome }) =>
        outcome.outcome === "selected" ? decisionOf(request, outcome.optionId) : undefined
      ),
      Effect.matchEffect({
        onFailure: () => Effect.sync(() => this.whereToDecide(id)),
        onSuccess: (decision) =>
          decision === undefined
            ? Effect.sync(() => this.whereToDecide(id))
            : this.send(this.sent(id, thread.server.decide(id, decision)))
      })
    )
  }

  /** Not interrupted when the events close the dialog. */
  private send(call: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.sync(() => void this.options.fork(call))
  }

  /** The events say what was decided, also if someone else was first. */
  private sent(id: string, call: Effect.Effect<unknown, CommandFailed>): Effect.Effect<void> {
    return Effect.matchEffect(call, {
      onSuccess: () => Effect.void,
      onFailure: ({ code, message }) =>
        Effect.sync(() => {
          if (code !== "approval_already_resolved" && code !== "input_already_resolved")
            this.addLine(`${id} refused`, message)
        })
    })
  }

  private answer(mode: RunMode, id: InputRequestId, request: RequestedInput): Effect.Effect<void> {
    const { onPlanMode, thread } = this.options
    const attempt = (problem: string | undefined, left: number): Effect.Effect<void> =>
      Effect.flatMap(this.ask(mode, id, request, problem), (outcome) => {
        if (typeof outcome === "string") return Effect.sync(() => this.whereToAnswer(id))
        const sending = thread.server.answer(id, outcome.answer).pipe(
          Effect.flatMap((answered) => {
            if (answered.approved === true && endsWithPlan(mode)) onPlanMode(answered.mode ?? "ask")
            return this.sent(id, thread.carryOut(answered))
          }),
          Effect.catchIf(
            ({ code }) => code === "schema_validation_failed" && left > 0,
            ({ message }) =>
              Effect.sync(() => {
                if (this.open.has(id)) this.open.set(id, this.options.fork(attempt(message, left - 1)))
              })
          ),
          (call) => this.sent(id, call)
        )
        return this.send(sending)
      })
    return attempt(undefined, MAX_CORRECTIONS)
  }

  private ask(
    mode: RunMode,
    id: InputRequestId,
    request: RequestedInput,
    problem: string | undefined
  ): Effect.Effect<Outcome<InputAnswer>> {
    const { client, modes } = this.options
    const message = `${problem === undefined ? "" : `${problem}\n\n`}${escapeLine(request.title)}`
    if (request.kind === "link") return this.openAddress(id, message, request)
    if (request.kind === "plan")
      return client.hasForms
        ? this.form(message, planForm(mode, modes), (content) => planAnswer(mode, modes, content))
        : this.choose(
            id,
            request,
            planDecisions(mode, modes).map(({ answer, id: optionId, title: name }) => ({
              optionId,
              name,
              answer
            }))
          )
    const schema = questionForm(request)
    if (schema !== undefined && client.hasForms)
      return this.form(message, schema, (content) => formAnswer(request, content))
    const [only, another] = request.questions ?? []
    return only === undefined || another !== undefined || !isSingleChoice(only)
      ? Effect.succeed("elsewhere")
      : this.choose(id, request, [
          ...(only.options ?? []).map(({ id: optionId, label: name }) => ({
            optionId: `option ${optionId}`,
            name,
            answer: { answers: { [only.id]: optionId } }
          })),
          { optionId: "skip", name: "Skip", answer: { decline: true as const } }
        ])
  }

  private form(
    message: string,
    requestedSchema: ReturnType<typeof planForm>,
    read: (content: Parameters<typeof formAnswer>[1]) => InputAnswer | undefined
  ): Effect.Effect<Outcome<InputAnswer>> {
    const { client, sessionId } = this.options
    return outcomeOf(
      Effect.map(client.elicit({ mode: "form", sessionId, message, requestedSchema }), (response) => {
        if (response.action === "decline") return { decline: true as const }
        const content = "content" in response && response.action === "accept" ? response.content : undefined
        // The SDK has checked the values.
        return content == null ? undefined : read(content as Parameters<typeof formAnswer>[1])
      })
    )
  }

  private openAddress(
    id: InputRequestId,
    message: string,
    { url }: RequestedInput
  ): Effect.Effect<Outcome<InputAnswer>> {
    const { client, sessionId } = this.options
    if (url === undefined || !client.opensAddresses) return Effect.succeed("elsewhere")
    return outcomeOf(
      Effect.map(client.elicit({ mode: "url", sessionId, message, url, elicitationId: id }), ({ action }) => {
        if (action === "decline") return { decline: true as const }
        return action === "accept" ? { answers: {} } : undefined
      })
    )
  }

  /** A permission request with one option for each answer. */
  private choose(
    id: InputRequestId,
    request: RequestedInput,
    answers: ReadonlyArray<{ readonly optionId: string; readonly name: string; readonly answer: InputAnswer }>
  ): Effect.Effect<Outcome<InputAnswer>> {
    const { client, send, sessionId } = this.options
    const toolCallId = `question/${id}`
    const title = escapeLine(request.title)
    const content = [textContent(plainRows(requestLines(request)))]
    send({ sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "pending", content })
    const options = answers.map(
      ({ answer, name, optionId }) =>
        ({
          optionId,
          name,
          kind: "decline" in answer || ("approve" in answer && !answer.approve) ? "reject_once" : "allow_once"
        }) as const
    )
    const response = client.askPermission({ sessionId, toolCall: { toolCallId, title, content }, options })
    return outcomeOf(
      Effect.map(response, ({ outcome }) =>
        outcome.outcome === "selected"
          ? answers.find(({ optionId }) => optionId === outcome.optionId)?.answer
          : undefined
      )
    ).pipe(
      Effect.ensuring(
        Effect.sync(() => send({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" }))
      )
    )
  }
}

const isSingleChoice = ({ kind, multiple, secret }: Question): boolean =>
  kind === "choice" && multiple !== true && secret !== true

const outcomeOf = (
  response: Effect.Effect<InputAnswer | undefined, NoAnswer>
): Effect.Effect<Outcome<InputAnswer>> =>
  Effect.match(response, {
    onSuccess: (answer): Outcome<InputAnswer> => (answer === undefined ? "closed" : { answer }),
    onFailure: (): Outcome<InputAnswer> => "elsewhere"
  })
