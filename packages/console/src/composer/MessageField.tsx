/**
 * Text field of a composer: grows with its text, completes paths after `@`, and takes pasted files.
 *
 * Guarantees: a key of an input method does nothing else. A key measures no layout.
 */
import { type ClipboardEvent, type KeyboardEvent, type Ref, useId, useRef, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { useComposition } from "../ui/Composition.ts"
import { useMedia } from "../ui/useMedia.ts"
import { type Draft, MAX_TEXT_LENGTH, pastedFiles, useDraftText } from "./Draft.ts"
import {
  completeMention,
  MentionList,
  type MentionPlace,
  type OpenMention,
  optionId,
  useMention
} from "./MentionList.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

/** More text than fits into the highest field. */
const MIRRORED_LENGTH = 4_096

interface Props {
  readonly draft: Draft
  readonly placeholder: string
  /** Where `@` finds files. While it loads, keys already belong to the completion. */
  readonly place: MentionPlace | "loading" | undefined
  readonly fieldRef?: Ref<HTMLTextAreaElement>
  /** `isForced`: with Ctrl or Cmd. */
  readonly onSubmit: (isForced: boolean) => void
}

/** The position of the caret, and a field that can be set with it. */
const useCaret = (draft: Draft) => {
  const [caret, setCaret] = useState<number>()
  const element = useRef<HTMLTextAreaElement | null>(null)
  const read = () => {
    const { selectionEnd, selectionStart } = element.current ?? {}
    setCaret(selectionStart === selectionEnd ? selectionStart : undefined)
  }
  const write = (text: string, position: number) => {
    draft.write(text)
    setCaret(position)
    // The new text is in the field after React has drawn it.
    requestAnimationFrame(() => element.current?.setSelectionRange(position, position))
  }
  return { caret, element, read, write, leave: () => setCaret(undefined) }
}

/** Attributes of the field while a list completes its text. */
const comboboxOf = (listId: string, state: OpenMention | undefined) =>
  state === undefined
    ? {}
    : {
        role: "combobox",
        "aria-autocomplete": "list" as const,
        "aria-expanded": true,
        "aria-controls": listId,
        ...(state.entries.length > 0 ? { "aria-activedescendant": optionId(listId, state.selected) } : {})
      }

export const MessageField = (props: Props) => {
  const { draft, onSubmit, place, placeholder } = props
  const messages = useMessages(composerMessages)
  const text = useDraftText(draft)
  const listId = useId()
  const [composition, isComposed] = useComposition()
  const isTouch = useMedia("(pointer: coarse)")
  const { caret, element, leave, read, write } = useCaret(draft)
  const mention = useMention(text, caret, place, (found, entry) => {
    const completed = completeMention(text, found, caret ?? text.length, entry)
    write(completed.text, completed.caret)
  })
  const onKeyDown = (event: KeyboardEvent) => {
    // The key is none for the page either.
    if (isComposed(event)) return event.stopPropagation()
    const { ctrlKey, key, metaKey, shiftKey } = event
    const isForced = ctrlKey || metaKey
    if (!isForced && !shiftKey && mention.onKey(event)) {
      event.preventDefault()
      event.stopPropagation()
      return
    }
    if (key !== "Enter" || shiftKey || (isTouch && !isForced)) return
    event.preventDefault()
    onSubmit(isForced)
  }
  const onPaste = (event: ClipboardEvent) => {
    const files = pastedFiles(event.clipboardData)
    if (files.length > 0 && draft.files.add(files)) event.preventDefault()
  }
  const { state } = mention
  return (
    <>
      <div className="composer-text" data-text={text.slice(0, MIRRORED_LENGTH)}>
        <textarea
          ref={(field) => {
            element.current = field
            if (typeof props.fieldRef === "function") return props.fieldRef(field)
            if (props.fieldRef) props.fieldRef.current = field
            return undefined
          }}
          rows={1}
          aria-label={messages.message}
          placeholder={placeholder}
          maxLength={MAX_TEXT_LENGTH}
          enterKeyHint={isTouch ? "enter" : "send"}
          value={text}
          onChange={({ target }) => {
            draft.write(target.value)
            read()
          }}
          onSelect={read}
          onBlur={leave}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          {...composition}
          {...comboboxOf(listId, state)}
        />
      </div>
      {state !== undefined && (
        <MentionList
          id={listId}
          field={element}
          mention={state}
          onChoose={mention.choose}
          onSelect={mention.select}
        />
      )}
    </>
  )
}
