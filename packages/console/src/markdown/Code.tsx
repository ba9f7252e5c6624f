/** Code with colours once they are there; long code is clipped until somebody asks for the rest. */
import { memo } from "react"
import type { Token } from "./Highlighter.ts"
import { Clipped } from "./Clipped.tsx"
import { useHighlighter } from "./useHighlighter.ts"
import { visibleText } from "./visible.ts"

export const Tokens = ({ tokens }: { readonly tokens: ReadonlyArray<Token> }) => (
  <>
    {tokens.map((token, at) =>
      typeof token === "string" ? (
        token
      ) : (
        <span key={at} className={token.className}>
          <Tokens tokens={token.children} />
        </span>
      )
    )}
  </>
)

/** More than this is not coloured. */
const COLOURED = 20_000

export const Code = memo(
  ({ language, text }: { readonly text: string; readonly language?: string | undefined }) => {
    const highlighter = useHighlighter(language !== undefined && text.length <= COLOURED)
    return (
      <Clipped text={visibleText(text)} className="code">
        {(part) => {
          const tokens = language === undefined ? undefined : highlighter?.tokens(part, language)
          return tokens === undefined ? part : <Tokens tokens={tokens} />
        }}
      </Clipped>
    )
  }
)
