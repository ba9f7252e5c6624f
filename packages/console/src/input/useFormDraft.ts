/** The answer that a person is writing, kept while the page shows something else. Texts of secrets are not kept. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { useCallback, useEffect, useRef, useState } from "react"
import { type FormDraft, emptyDraft } from "./FormDraft.ts"

const unsentDrafts = new Map<HubInput["id"], FormDraft>()

const withoutSecrets = (draft: FormDraft, questions: HubInput["questions"] = []): FormDraft => {
  const secrets = new Set(questions.filter(({ secret }) => secret === true).map(({ id }) => id))
  return Object.fromEntries(Object.entries(draft).filter(([id]) => !secrets.has(id)))
}

/** Takes the texts that a person wrote for a question which another person answered, or which has ended. */
export const takeUnsentTexts = (id: HubInput["id"]): string => {
  const draft = unsentDrafts.get(id) ?? emptyDraft
  unsentDrafts.delete(id)
  const texts = Object.values(draft).map(({ text }) => text)
  return texts.filter((text) => text.trim() !== "").join("\n\n")
}

interface KeptDraft {
  readonly draft: FormDraft
  readonly setDraft: (draft: FormDraft) => void
  /** Forgets the draft of an answer that was sent. */
  readonly forget: () => void
}

export const useFormDraft = ({ id, questions }: HubInput): KeptDraft => {
  const [draft, setDraft] = useState(() => unsentDrafts.get(id) ?? emptyDraft)
  const latest = useRef(draft)
  useEffect(() => {
    latest.current = draft
  })
  useEffect(() => () => void unsentDrafts.set(id, withoutSecrets(latest.current, questions)), [id, questions])
  const forget = useCallback(() => {
    setDraft(emptyDraft)
    unsentDrafts.delete(id)
  }, [id])
  return { draft, setDraft, forget }
}
