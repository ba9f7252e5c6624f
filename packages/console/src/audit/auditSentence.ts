/**
 * Sentence of an audit record: who did what to what, or tried to, and why it was refused. Pure.
 *
 * *Guarantees:* each action and outcome has a sentence in each language, by type. Names are shown without invisible characters. An unknown
 * name becomes a general word, never an id.
 */
import type { AuditRecord } from "@corral/domain/access/Audit"
import { visibleLine } from "../markdown/visible.ts"
import type { Language } from "../text/Language.tsx"
import {
  type AuditPhrase,
  type AuditSubject,
  type AuditTexts,
  type NameMention,
  type Sentence,
  auditTexts,
  sentence
} from "./auditTexts.ts"

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
