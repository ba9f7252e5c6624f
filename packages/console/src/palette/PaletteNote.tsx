/** Note below the list of the palette: searching, an error, nothing found, or the number of results. */
import { firstCharacters } from "@corral/domain/text/Cut"
import type { TypedSearch } from "../api/useTypedSearch.ts"
import { useMessages } from "../text/Language.tsx"
import { paletteMessages } from "./messages.ts"
import "./palette.css"

interface Props {
  readonly query: string
  /** Number of items in the list. */
  readonly found: number
  readonly search: Pick<TypedSearch<unknown>, "again" | "error" | "isSearching">
}

export const PaletteNote = ({ found, query, search }: Props) => {
  const messages = useMessages(paletteMessages)
  const { again, error, isSearching } = search
  const text = (): string => {
    if (isSearching) return messages.searching
    if (error !== null) return messages.failed
    if (query.trim() === "") return messages.hint
    return found === 0 ? messages.nothing(firstCharacters(query.trim(), 60)) : messages.found(found)
  }
  return (
    <div className="palette-note">
      <span role="status">{text()}</span>
      {query.trim() !== "" && found > 0 && error === null && (
        <span className="palette-help" aria-hidden="true">
          {messages.hint}
        </span>
      )}
      {error !== null && !isSearching && (
        <button type="button" className="button small" onClick={again}>
          {messages.again}
        </button>
      )}
    </div>
  )
}
