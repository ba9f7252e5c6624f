/** Code block, highlighted when the highlighter has loaded. Long code is clipped until the user expands it. */
import { memo, useEffect, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { Clipped } from "./Clipped.tsx"
import type * as Highlighter from "./Highlighter.ts"
import type { Token } from "./Highlighter.ts"
import { markdownMessages } from "./messages.ts"
import { visibleText } from "./visible.ts"

let loaded: typeof Highlighter | undefined

/** Returns `undefined` until it has loaded, or if it is not wanted. */
export const useHighlighter = (wanted: boolean): typeof Highlighter | undefined => {
  const [highlighter, setHighlighter] = useState(loaded)
  useEffect(() => {
    if (!wanted || highlighter !== undefined) return undefined
    let isUnmounted = false
    const load = async () => {
      loaded = await import("./Highlighter.ts")
      if (!isUnmounted) setHighlighter(loaded)
    }
    load().catch(() => undefined)
    return () => {
      isUnmounted = true
    }
  }, [wanted, highlighter])
  return wanted ? highlighter : undefined
}

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
