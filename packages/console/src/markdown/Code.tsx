/** Code block, highlighted when the highlighter has loaded. Long code is clipped until the user expands it. */
import { memo } from "react"
import { useMessages } from "../text/Language.tsx"
import type { Token } from "./Highlighter.ts"
import { Clipped } from "./Clipped.tsx"
import { useHighlighter } from "./useHighlighter.ts"
import { markdownMessages } from "./messages.ts"
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

/** Longer code is not highlighted. */
const COLOURED = 20_000

export const Code = memo(
  ({ language, text }: { readonly text: string; readonly language?: string | undefined }) => {
    const { copyCode } = useMessages(markdownMessages)
    const highlighter = useHighlighter(language !== undefined && text.length <= COLOURED)
    return (
      <Clipped text={visibleText(text)} className="code" copies={copyCode}>
        {(part) => {
          const tokens = language === undefined ? undefined : highlighter?.tokenize(part, language)
          return tokens === undefined ? part : <Tokens tokens={tokens} />
        }}
      </Clipped>
    )
  }
)
