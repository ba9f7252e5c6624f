/**
 * Audit records as sentences, newest first: who did what to what, or tried to, and why it was refused. A record unfolds to its ids and raw fields.
 *
 * *Guarantees:* each action and outcome has a sentence in each language, by type. Names are shown without invisible characters. An unknown
 * name becomes a general word, never an id. A resource is asked for once for its name. A resource that the reader can't see has no name, and causes no error.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { ApprovalId, ProjectId, RunId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { currentAgentId } from "@corral/domain/offer/Offer"
import { useQueries } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { useProjects, useTargets } from "../api/ProjectsAndTargets.ts"
import { approvalMessages } from "../approval/messages.ts"
import { visibleLine } from "../markdown/visible.ts"
import { promptTitle } from "../runs/RunRows.tsx"
import { type Language, useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import {
  type AuditPhrase,
  type AuditSubject,
  auditTexts,
  type AuditTexts,
  type NameMention,
  sentence,
  type Sentence
} from "./auditTexts.ts"
import { auditMessages } from "./messages.ts"
import "./audit.css"

/** Names that the reader can see. */
export interface AuditNames {
  /** Id of the reader. */
  readonly userId: string
  /** Name of a user, project or device, title of a session or run, or title of the action that an approval is for. */
  readonly nameOf: (id: string) => string | undefined
  /** Agent of a task's run. */
  readonly agentOf: (taskId: string) => string | undefined
  /** Reason that a user gave for denying an approval. */
  readonly reasonOf: (approvalId: string) => string | undefined
}

const mention = (name: string | undefined): NameMention | undefined =>
  name === undefined || name.trim() === "" ? undefined : { name: visibleLine(name, 120) }

const actorOf = ({ actor }: AuditRecord, names: AuditNames, texts: AuditTexts): Sentence => {
  if (actor === names.userId) return sentence`${texts.you}`
  const name = mention(names.nameOf(actor))
  if (actor.startsWith("usr_")) return sentence`${name ?? texts.someone}`
  if (actor.startsWith("dev_")) return name === undefined ? sentence`${texts.aDevice}` : texts.device(name)
  return sentence`${actor === "gateway" ? texts.gateway : texts.system}`
}

const subjectOf = (record: AuditRecord, names: AuditNames): AuditSubject => ({
  kind: record.resource.slice(0, 4),
  resource: mention(names.nameOf(record.resource)),
  project: mention(record.projectId === null ? undefined : names.nameOf(record.projectId)),
  agent: mention(names.agentOf(record.resource))
})

const phraseOf = ({ action, details }: AuditRecord, texts: AuditTexts): AuditPhrase =>
  details === undefined ? texts.actions[action] : texts.decisions[details.decision]

/** How far a decision reaches, whether it has changes, and why it was made. */
const decisionEnd = (record: AuditRecord, names: AuditNames, texts: AuditTexts): Sentence => {
  const { details } = record
  if (details === undefined) return []
  const reason = details.decision === "deny" ? mention(names.reasonOf(details.approvalId)) : undefined
  return [
    ...(details.edited ? [texts.edited] : []),
    ...(details.decision === "allow" ? [texts.scopes[details.scope]] : []),
    ...(reason === undefined ? [] : [texts.colon, { ...reason, isQuote: true as const }])
  ].filter((part) => part !== "")
}

/** Sentence of an audit record. Pure. An unknown name becomes a general word. */
export const auditSentence = (record: AuditRecord, names: AuditNames, language: Language): Sentence => {
  const texts = auditTexts[language]
  const { code, outcome } = record
  const phrase = phraseOf(record, texts)
  const subject = subjectOf(record, names)
  if (typeof phrase === "function") return phrase(subject)
  const actor = actorOf(record, names, texts)
  const [did, attempt, object] = phrase
  const target = object?.(subject) ?? []
  if (outcome === "allowed") return [...texts.did(actor, did, target), ...decisionEnd(record, names, texts)]
  const why = code === null ? undefined : texts.codes[code]
  return [
    ...texts.tried(actor, attempt, target),
    texts.outcomes[outcome],
    ...(why === undefined ? [] : [texts.colon, why])
  ]
}

interface NamedResource {
  readonly name: string
  readonly reason?: string
  readonly agentId?: string
}

const members = 200

/** Readers by prefix. A project stands for its members. */
const readers: {
  readonly [Prefix in string]?: (id: string) => Promise<ReadonlyArray<[string, NamedResource]>>
} = {
  apr_: async (id) => {
    const { reason, request } = await hubApi.approvals.get({ params: { id: id as ApprovalId } })
    return [[id, { name: request.title, ...(reason === undefined ? {} : { reason }) }]]
  },
  tsk_: async (id) => {
    const { agentId, input } = await hubApi.tasks.get({ params: { id: id as TaskId } })
    return [[id, { name: promptTitle(input.text), agentId }]]
  },
  run_: async (id) => {
    const { input } = await hubApi.runs.get({ params: { id: id as RunId } })
    return [[id, { name: promptTitle(input.text) }]]
  },
  ses_: async (id) => {
    const { title } = await hubApi.sessions.get({ params: { id: id as SessionId } })
    return [[id, { name: title }]]
  },
  prj_: async (id) => {
    const { items } = await hubApi.projects.members({
      params: { id: id as ProjectId },
      query: { limit: members }
    })
    return items.map(({ name, userId }) => [userId, { name }])
  }
}

const isHidden = (error: unknown): boolean =>
  error instanceof CorralError && ["permission_denied", "not_found"].includes(error.code)

const named = async (id: string): Promise<ReadonlyArray<[string, NamedResource]>> => {
  try {
    return (await readers[id.slice(0, 4)]?.(id)) ?? []
  } catch (error) {
    if (isHidden(error)) return []
    throw error
  }
}

/**
 * Names for the sentences of these records: projects, devices and members by list, the other resources one by one. Undefined while they load.
 */
const useAuditNames = (records: ReadonlyArray<AuditRecord>): AuditNames | undefined => {
  const { user } = useCurrentUser()
  const projects = useProjects()
  const targets = useTargets()
  const visible = new Set<string>(projects.map(({ id }) => id))
  const ids = new Set(
    records.flatMap(({ projectId, resource }) => [
      resource,
      ...(projectId === null || !visible.has(projectId) ? [] : [projectId])
    ])
  )
  const found = useQueries({
    queries: [...ids]
      .filter((id) => readers[id.slice(0, 4)] !== undefined && (!id.startsWith("prj_") || visible.has(id)))
      .map((id) => ({
        queryKey: ["audit", "name", id],
        queryFn: () => named(id),
        staleTime: Number.POSITIVE_INFINITY,
        retry: false
      }))
  })
  if (found.some(({ isPending }) => isPending)) return undefined
  const resources = new Map(found.flatMap(({ data }) => data ?? []))
  const places = new Map<string, string>([...projects, ...targets].map(({ id, name }) => [id, name]))
  const agents = new Map<string, string>(
    targets.flatMap((target) => target.agents.map(({ id, label }) => [id, label] as const))
  )
  return {
    userId: user.id,
    nameOf: (id) => (id === user.id ? user.name : (places.get(id) ?? resources.get(id)?.name)),
    agentOf: (id) => {
      const agentId = resources.get(id)?.agentId
      return agentId === undefined
        ? undefined
        : (agents.get(agentId) ?? agents.get(currentAgentId(agentId)) ?? agentId)
    },
    reasonOf: (id) => resources.get(id)?.reason
  }
}

const RecordDetails = ({ record }: { readonly record: AuditRecord }) => {
  const messages = useMessages(auditMessages)
  const approval = useMessages(approvalMessages)
  const { action, actor, code, details, projectId, requestId, resource, seq } = record
  const facts: ReadonlyArray<readonly [string, string | number | null]> = [
    [messages.action, action],
    [messages.code, code],
    [messages.actor, actor],
    [messages.resource, resource],
    [messages.projectId, projectId],
    [messages.request, requestId],
    [messages.seq, seq]
  ]
  return (
    <div className="audit-details">
      <dl className="facts">
        {facts.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          )
        )}
        {details !== undefined && (
          <div>
            <dt>{messages.decision}</dt>
            <dd>
              {messages.decisions[details.decision]}, {approval.remembered[details.scope]}
              {details.origin !== "policy" && `, ${approval.origins[details.origin]}`}
            </dd>
          </div>
        )}
      </dl>
      {details !== undefined && (
        <Link to="/approvals/$approvalId" params={{ approvalId: details.approvalId }}>
          {messages.toApproval}
        </Link>
      )}
    </div>
  )
}

const RecordRow = ({ names, record }: { readonly names: AuditNames; readonly record: AuditRecord }) => {
  const { language } = useLanguage()
  const { at, outcome } = record
  return (
    <li>
      <details className="audit-record">
        <summary className="audit-line">
          <Icon name="unfold" size={14} />
          <span className="audit-sentence">
            {auditSentence(record, names, language).map((part, index) =>
              typeof part === "string" ? (
                part
              ) : (
                <bdi key={index} className={part.isQuote ? "audit-quote" : undefined}>
                  {part.name}
                </bdi>
              )
            )}
          </span>
          <span className="audit-facts">
            {outcome !== "allowed" && <StateBadge state={outcome} />}
            <Time at={at} />
          </span>
        </summary>
        <RecordDetails record={record} />
      </details>
    </li>
  )
}

/** Audit records as sentences, newest first. */
export const AuditList = ({ records }: { readonly records: ReadonlyArray<AuditRecord> }) => {
  const messages = useMessages(auditMessages)
  const names = useAuditNames(records)
  if (records.length === 0) return null
  if (names === undefined) return <Loading />
  return (
    <ul className="rows" aria-label={messages.caption}>
      {records.map((record) => (
        <RecordRow key={record.id} {...{ names, record }} />
      ))}
    </ul>
  )
}
