/** Entries that complete a path, as the list of a combobox. The field keeps the focus. */
import { CorralError } from "@corral/client/http/CorralError"
import { type RefObject, useEffect, useRef } from "react"
import { createPortal } from "react-dom"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { Icon } from "../ui/Icon.tsx"
import { composerMessages } from "./messages.ts"
import type { OpenMention } from "./useMention.ts"
import { usePlacement } from "./usePlacement.ts"
import "./composer.css"

interface Props {
  readonly id: string
  readonly field: RefObject<Element | null>
  readonly mention: OpenMention
  readonly onChoose: (index: number) => void
  readonly onSelect: (index: number) => void
}

export const optionId = (id: string, index: number): string => `${id}-${index}`

const MentionNote = ({ mention: { entries, error, isSearching, place } }: Pick<Props, "mention">) => {
  const messages = useMessages(composerMessages)
  const textOf = useErrorSentence()
  const note =
    place !== "loading" && !place.isOnline
      ? messages.filesOffline(place.targetName)
      : isSearching && entries.length === 0
        ? messages.filesLoading
        : error instanceof CorralError
          ? textOf(error)
          : entries.length === 0
            ? messages.noFiles
            : ""
  return (
    <p className={note === "" ? "hidden" : "mention-note"} role="status">
      {note}
    </p>
  )
}

export const MentionList = ({ field, id, mention, onChoose, onSelect }: Props) => {
  const messages = useMessages(composerMessages)
  const list = useRef<HTMLUListElement>(null)
  const placement = usePlacement(field)
  const { entries, selected } = mention
  useEffect(() => {
    list.current?.children[selected]?.scrollIntoView({ block: "nearest" })
  }, [selected])
  return createPortal(
    <div className="mentions" style={placement}>
      <MentionNote mention={mention} />
      <ul ref={list} id={id} role="listbox" aria-label={messages.files}>
        {entries.map(({ kind, name, path }, index) => (
          <li
            key={path}
            id={optionId(id, index)}
            className="mention"
            role="option"
            aria-selected={index === selected}
            // The field must not lose the focus.
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => index !== selected && onSelect(index)}
            onClick={() => onChoose(index)}
          >
            <Icon name={kind === "directory" ? "folder" : "file"} />
            <bdi className="mention-name">
              {visibleLine(name, 120)}
              {kind === "directory" ? "/" : ""}
            </bdi>
            {path.length > name.length && (
              <bdi className="mention-folder">{visibleLine(path.slice(0, -name.length - 1), 200)}</bdi>
            )}
          </li>
        ))}
      </ul>
    </div>,
    document.body
  )
}
