// Draws the sequence diagrams, which are text in Mermaid's notation. Without a network they stay text.
(() => {
    const blocks = document.querySelectorAll("code.language-mermaid");
    if (blocks.length === 0) return;
    const script = document.createElement("script");
    script.src = "https://cdn.jsdelivr.net/npm/mermaid@11/dist/mermaid.min.js";
    script.onload = () => {
        blocks.forEach((block) => {
            const diagram = document.createElement("pre");
            diagram.className = "mermaid";
            diagram.textContent = block.textContent;
            block.parentElement.replaceWith(diagram);
        });
        const isDark = /navy|coal|ayu/.test(document.documentElement.className);
        mermaid.initialize({ startOnLoad: false, theme: isDark ? "dark" : "default" });
        mermaid.run({ querySelector: ".mermaid" });
    };
    document.head.append(script);
})();
