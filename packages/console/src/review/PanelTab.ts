/** Tabs of the side panel. Light: the router reads them without the panel. */
export const panelTabs = ["changes", "files", "artifacts", "preview", "log"] as const

export type PanelTab = (typeof panelTabs)[number]

export const isPanelTab = (value: unknown): value is PanelTab => panelTabs.some((tab) => tab === value)
