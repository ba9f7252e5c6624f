/**
 * The two languages. Each folder keeps its own words in a `messages.ts`, so that they load with the pages that say them; what the language is
 * lives here: the browser's, until a person chooses, and then in this browser only.
 */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react"

export type Language = "en" | "zh"

/** The same words in both languages: one that is missing in Chinese is a type error. */
export interface Bilingual<W> {
  readonly en: W
  readonly zh: W
}

export const bilingual = <W,>(en: W, zh: NoInfer<W>): Bilingual<W> => ({ en, zh })

const STORED = "corral.language"

/** Chinese for a browser that prefers any kind of it, else English. */
export const uiLanguageOf = (preferred: string): Language =>
  preferred.toLowerCase().startsWith("zh") ? "zh" : "en"

const initial = (): Language => {
  const stored = localStorage.getItem(STORED)
  return stored === "en" || stored === "zh" ? stored : uiLanguageOf(navigator.language)
}

interface LanguageState {
  readonly language: Language
  readonly speak: (language: Language) => void
}

const Context = createContext<LanguageState>({ language: "en", speak: () => undefined })

export const LanguageProvider = ({ children }: { readonly children: ReactNode }) => {
  const [language, setLanguage] = useState(initial)
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en"
  }, [language])
  const speak = useCallback((chosen: Language) => {
    localStorage.setItem(STORED, chosen)
    setLanguage(chosen)
  }, [])
  return <Context value={useMemo(() => ({ language, speak }), [language, speak])}>{children}</Context>
}

export const useLanguage = (): LanguageState => useContext(Context)

/** The words of a folder in the language that is spoken. */
export const useMessages = <W,>(words: Bilingual<W>): W => words[useLanguage().language]
