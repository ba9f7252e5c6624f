/**
 * Language of the UI: the browser's language, or the user's choice, with a copy in this browser.
 *
 * Each folder has its texts in `messages.ts`, so that they load with its pages.
 */
import type { Language } from "@corral/domain/preference/Preferences"
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react"

export type { Language }

/** What is between two sentences. A Chinese full stop brings its own space. */
export const sentenceSpace: { readonly [L in Language]: string } = { en: " ", zh: "" }

/** Punctuation between parts of a sentence, with its space. */
export const punctuation: {
  readonly [L in Language]: { readonly comma: string; readonly colon: string; readonly stop: string }
} = {
  en: { comma: ", ", colon: ": ", stop: ". " },
  zh: { comma: "，", colon: "：", stop: "。" }
}

/** Texts in both languages. A missing Chinese text is a type error. */
export interface Bilingual<W> {
  readonly en: W
  readonly zh: W
}

export const bilingual = <W,>(en: W, zh: NoInfer<W>): Bilingual<W> => ({ en, zh })

const STORED = "corral.language"

/** Chinese for any Chinese locale, otherwise English. */
export const uiLanguageOf = (preferred: string): Language =>
  preferred.toLowerCase().startsWith("zh") ? "zh" : "en"

const initial = (): Language => {
  const stored = localStorage.getItem(STORED)
  return stored === "en" || stored === "zh" ? stored : uiLanguageOf(navigator.language)
}

interface LanguageState {
  readonly language: Language
  /** Shows a language, and stores it in this browser. */
  readonly selectLanguage: (language: Language) => void
}

const Context = createContext<LanguageState>({ language: "en", selectLanguage: () => undefined })

export const LanguageProvider = ({ children }: { readonly children: ReactNode }) => {
  const [language, setLanguage] = useState(initial)
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en"
  }, [language])
  const selectLanguage = useCallback((chosen: Language) => {
    localStorage.setItem(STORED, chosen)
    setLanguage(chosen)
  }, [])
  return (
    <Context value={useMemo(() => ({ language, selectLanguage }), [language, selectLanguage])}>
      {children}
    </Context>
  )
}

export const useLanguage = (): LanguageState => useContext(Context)

export const usePunctuation = () => punctuation[useLanguage().language]

/** Returns texts in the current language. */
export const useMessages = <W,>(texts: Bilingual<W>): W => texts[useLanguage().language]
