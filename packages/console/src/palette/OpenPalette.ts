/** Opens the palette, for buttons on pages without the bar of the app. */
import { createContext } from "react"

export const OpenPalette = createContext<() => void>(() => undefined)
