/** Decorative icons. The text next to them names the action. */
const drawings = {
  home: "M3 11 12 4l9 7M6 9.5V20h12V9.5",
  projects: "M3 6h6l2 2h10v11H3z",
  runs: "M7 5l11 7-11 7z",
  approvals: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
  devices: "M4 5h16v10H4zM9 19h6M12 15v4",
  audit: "M6 3h9l3 3v15H6zM9 9h6M9 13h6M9 17h4",
  bell: "M6 17V11a6 6 0 0 1 12 0v6l1.5 1.5h-15zM10 21h4",
  plus: "M12 5v14M5 12h14",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c1-5 4-6 8-6s7 1 8 6"
}

export const Icon = ({ name }: { readonly name: keyof typeof drawings }) => (
  <svg className="icon" viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
    <path d={drawings[name]} />
  </svg>
)
